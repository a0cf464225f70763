import { describeValue } from './describeValue.ts'
import { type Checked, type Issue, ValidationException } from './errors.ts'
import { MAX_REPORTED } from './lists.ts'
import { fractionDigitsOf, type Money, moneyText, readMoney } from './money.ts'
import type { OrderPayload, Payload } from './payloads.ts'

/**
 * The order as it is stored: complete, with its amounts in the currency, as text and as minor units. Equal orders are
 * equal as JSON: the keys have a fixed order.
 *
 * @param order A payload that `validate` has returned.
 * @param currency The customer's currency, ISO 4217: `EUR`.
 * @param names Of the products, for the paths of issues, as they were sent. Default: `0`, `1` and so on.
 * @returns The order, or every amount that can not be read exactly in this currency.
 */
export function toStoredOrder(
  order: Payload<'saveOrder'>,
  currency: string,
  names: readonly string[] = Object.keys(order.products),
): Checked<OrderPayload> {
  const digits = fractionDigitsOf(currency)
  const issues: Issue[] = []
  const read = (path: string, value: unknown): Money => {
    const money = readMoney(value, digits)
    if (money) return money
    const message = `Expected an amount of ${currency} with at most ${digits} decimals, up to ${moneyText(Number.MAX_SAFE_INTEGER, digits)}, received ${describeValue(value)}`
    issues.push({ path, message })
    return ZERO
  }

  const discount = read('discount_value', order.discount_value ?? 0)
  const shipping = read('shipping', order.shipping ?? 0)
  const tax = read('tax', order.tax ?? 0)
  const total = read('total_value', order.total_value)
  const products = order.products.map(({ product_id, price, quantity, variation_sku = '' }, at) => {
    const { text, minor } = read(`products.${names[at]}.price`, price)
    return { product_id, price: text, quantity, variation_sku, price_minor: minor }
  })
  if (issues.length)
    return { ok: false, error: new ValidationException(issues.slice(0, MAX_REPORTED)) }
  const payload: OrderPayload = {
    number: order.number,
    email_address: order.email_address ?? '',
    phone: order.phone ?? '',
    firstname: order.firstname ?? '',
    lastname: order.lastname ?? '',
    city: order.city ?? '',
    county: order.county ?? '',
    address: order.address ?? '',
    discount_value: discount.text,
    discount_code: order.discount_code ?? '',
    shipping: shipping.text,
    tax: tax.text,
    total_value: total.text,
    products,
    currency,
    minor: {
      discount_value: discount.minor,
      shipping: shipping.minor,
      tax: tax.minor,
      total_value: total.minor,
    },
  }
  return { ok: true, payload }
}

/** In place of an amount that can not be read; then the order is refused. */
const ZERO: Money = { text: '', minor: 0 }
