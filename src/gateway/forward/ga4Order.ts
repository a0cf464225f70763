import { cut, type Ga4Destination } from './ga4Settings.ts'
import type { ForwardEvent } from './kind.ts'

/** The most items of an event (https://developers.google.com/analytics/devguides/collection/protocol/ga4/reference/events#purchase). */
const MAX_ITEMS = 200

/** Parameters of a purchase. */
export function purchaseOf({ payload }: ForwardEvent, { itemId }: Ga4Destination) {
  const { discount_code, products, shipping, tax } = payload as OrderFields
  return {
    transaction_id: transactionOf(payload),
    ...totalOf(payload),
    ...moneyOf('shipping', shipping),
    ...moneyOf('tax', tax),
    ...(discount_code && { coupon: cut(discount_code) }),
    ...(products && {
      items: products.slice(0, MAX_ITEMS).map((product) => ({
        item_id: cut(idOf(product, itemId)),
        ...moneyOf('price', product.price),
        quantity: product.quantity,
      })),
    }),
  }
}

/** Parameters of a refund of the whole order. Its value is that of the order as it was saved last. */
export const refundOf = ({ payload, order }: ForwardEvent) => ({
  transaction_id: transactionOf(payload),
  ...(order && totalOf(order)),
})

/** The number of the order that a record is about, as Google's id of a transaction. Undefined for other events. */
export function transactionOf(payload: ForwardEvent['payload']): string | undefined {
  const number = payload.number ?? payload.order_number
  return typeof number === 'string' ? cut(number) : undefined
}

/** Google needs the currency of a value. */
function totalOf({ total_value, currency }: ForwardEvent['payload']) {
  return { ...moneyOf('value', total_value), ...(typeof currency === 'string' && { currency }) }
}

/** Google takes numbers: the nearest one to a decimal text. */
const moneyOf = (name: string, text: unknown) =>
  typeof text === 'string' ? { [name]: Number(text) } : {}

/** A line of an order has the SKU of its variation, but no id of it. */
const idOf = ({ product_id, variation_sku }: Product, itemId: Ga4Destination['itemId']): string =>
  itemId === 'sku' && variation_sku ? variation_sku : product_id

type Product = {
  readonly product_id: string
  readonly price: string
  readonly quantity: number
  readonly variation_sku?: string
}

/** Those that the destination leaves out are missing. */
type OrderFields = {
  readonly discount_code?: string
  readonly products?: readonly Product[]
  readonly shipping?: string
  readonly tax?: string
}
