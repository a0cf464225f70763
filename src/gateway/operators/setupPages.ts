import type { createOwnCheck } from '../check/ownCheck.ts'
import { makeSetupTexts } from '../check/setupTexts.ts'
import type { Customer, Customers } from '../customers/customers.ts'
import { type Addresses, isLocal } from '../http/address.ts'
import { answer, type Refusal, refuse } from '../http/answers.ts'
import { readQuery } from '../http/query.ts'
import type { Connected } from '../http/requestEnv.ts'
import { type Operators, readOwnJson } from './operators.ts'

export type SetupPageDependencies = {
  readonly customers: Pick<Customers, 'find'>
  readonly addresses: Addresses
  readonly operators: Operators
  readonly checkShop: ReturnType<typeof createOwnCheck>
}

/** Largest body of a check. */
const MAX_BODY_BYTES = 4_096
/** Longest address of a shop, UTF-16 units. */
const MAX_ADDRESS_LENGTH = 2_000

/**
 * The data of the set up page, for operators who may see the customer of `?customer=ID`: 401 without a sign-in, 403 for
 * another customer.
 *
 * - GET /setup/data/snippet?shop=ADDRESS: a SetupTexts
 * - POST /setup/data/check with `{"shop"}`: `{report, texts}`, a CheckReport and the texts that fit it. 422 if the
 *   address is not at an origin that the customer allows. Rejects with TooMany
 */
export function createSetupPages(dependencies: SetupPageDependencies) {
  const { customers, addresses, operators, checkShop } = dependencies

  function findCustomer(
    request: Request,
    peer: string,
  ): { readonly ok: true; readonly customer: Customer } | Refusal {
    const watched = operators.findWatched(request, peer)
    if (!watched.ok) return watched
    const customer = customers.find(watched.customerId)
    return customer ? { ok: true, customer } : REMOVED
  }

  function snippet(request: Request, peer: string): Response {
    const watched = findCustomer(request, peer)
    if (!watched.ok) return refuse(watched)
    const shop = readShop(readQuery(request.url)('shop'))
    if (!shop) return refuse(NO_ADDRESS)
    return answer(200, makeSetupTexts(watched.customer, addresses.base(request, peer), shop))
  }

  async function check(
    request: Request,
    peer: string,
    { env }: Connected<'readBody'>,
  ): Promise<Response> {
    const watched = findCustomer(request, peer)
    if (!watched.ok) return refuse(watched)
    const { customer } = watched
    const body = await readOwnJson(request, env.readBody, MAX_BODY_BYTES)
    if (!body.ok) return refuse(body)
    const shop = readShop((body.json as { readonly shop?: unknown } | null)?.shop)
    if (!shop) return refuse(NO_ADDRESS)
    const gateway = addresses.base(request, peer)
    const checked = await checkShop({ customer, shop, gateway, isLocal: isLocal(request, peer) })
    if (!checked.ok) return refuse(checked)
    const { report } = checked
    return answer(200, { report, texts: makeSetupTexts(customer, gateway, shop, report) })
  }

  return { snippet, check }
}

/** The address of a web page. Undefined if it is none. */
function readShop(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > MAX_ADDRESS_LENGTH) return undefined
  try {
    const url = new URL(value)
    return /^https?:$/.test(url.protocol) ? url.href : undefined
  } catch {
    return undefined
  }
}

const REMOVED: Refusal = { ok: false, status: 403, message: 'You may not see this customer' }
const NO_ADDRESS: Refusal = {
  ok: false,
  status: 422,
  message: 'Expected the address of the shop, such as https://shop.example',
}
