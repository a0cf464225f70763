/**
 * What the pages ask of the shop's own server. A page never calls the gateway's API about orders and subscribers, since
 * that needs the REST key: the server does. In the demo the gateway plays this server.
 */
import type { Line } from './lines.tsx'

/** The customer waits for the answer. */
const TIMEOUT_MS = 8_000

export type Buyer = {
  readonly email: string
  readonly firstname: string
  readonly lastname: string
  readonly phone: string
  readonly town: string
  readonly street: string
}

/**
 * @param amounts Sum of the lines, and postage, in cents.
 * @returns The number of the order. Undefined if there is no server, as where only the pages are served.
 */
export async function placeOrder(
  buyer: Buyer,
  lines: readonly Line[],
  amounts: { readonly sum: number; readonly postage: number },
): Promise<number | undefined> {
  const answer = await post('order', {
    email_address: buyer.email,
    firstname: buyer.firstname,
    lastname: buyer.lastname,
    phone: buyer.phone,
    city: buyer.town,
    address: buyer.street,
    shipping: euros(amounts.postage),
    total_value: euros(amounts.sum + amounts.postage),
    products: lines.map(({ product, variation, quantity }) => ({
      product_id: product.id,
      price: euros(variation.price),
      quantity,
      variation_sku: variation.sku,
    })),
  })
  return typeof answer?.number === 'number' ? answer.number : undefined
}

/** @returns Whether the server has cancelled it. */
export const cancelOrder = async (number: number): Promise<boolean> =>
  (await post('cancel', { number })) !== undefined

export const subscribe = async (email: string): Promise<boolean> =>
  (await post('subscribe', { email, channels: ['email'] })) !== undefined

export const unsubscribe = async (email: string): Promise<boolean> =>
  (await post('unsubscribe', { email })) !== undefined

/** `2400` is `24.00`. */
const euros = (cents: number): string => (cents / 100).toFixed(2)

/** @returns The answer. Undefined if it is an error, or not JSON. */
async function post(
  path: string,
  body: unknown,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  try {
    const answer = await fetch(`server/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(TIMEOUT_MS),
      // The customer may leave while it is sent.
      keepalive: true,
    })
    return answer.ok ? await answer.json() : undefined
  } catch {
    return undefined
  }
}
