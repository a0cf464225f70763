import { isRecordOperation } from '../../contract/recordOperations.ts'
import { FIELD_RULES, type FieldRule } from './fieldRules.ts'

const TEXT = 'text of at most 2,048 characters'
const ID = 'text of 1 to 128 characters that is not blank, or a whole number'
const AMOUNT =
  'an amount that can be read exactly in the customer’s currency, such as 1234.5 or "1,234.50"'
const LIST = 'a list of short texts, or one text with commas'

const ADVICE =
  'Correct it in what the shop’s server sends: the answer to the call names the value. Amounts are in the currency of the customer’s settings'

const field = (rule: string, supply = ADVICE): FieldRule => ({ rule, supply })

/**
 * The fields of orders and subscribers, by their paths. A star stands for the place in a list. They are sent by a shop's
 * server, so their advice is not that of the fields of a page.
 */
export const RECORD_FIELDS: Readonly<Record<string, FieldRule>> = {
  number: field(ID),
  email_address: field('an e-mail address, or empty'),
  phone: field(TEXT),
  firstname: field(TEXT),
  lastname: field(TEXT),
  city: field(TEXT),
  county: field(TEXT),
  address: field(TEXT),
  discount_value: field(AMOUNT),
  discount_code: field(TEXT),
  shipping: field(AMOUNT),
  tax: field(AMOUNT),
  total_value: field(AMOUNT),
  products: field('a list of at most 500 products'),
  'products.*': field('a product with product_id, price and quantity'),
  'products.*.product_id': field(ID),
  'products.*.price': field(AMOUNT),
  'products.*.quantity': field('a number from 0 on'),
  'products.*.variation_sku': field(TEXT),
  order_number: field(ID),
  order_status: field(ID),
  email: field('an e-mail address'),
  name: field(TEXT),
  add_tags: field(LIST),
  country: field(TEXT),
  birthday: field('a date as YYYY-MM-DD'),
  channels: field(LIST),
  attributes: field('an object of at most 100 names with text, numbers, true or false'),
}

/** The rules of an operation's fields. */
export const fieldsOf = (operation: string): Readonly<Record<string, FieldRule>> =>
  isRecordOperation(operation) ? RECORD_FIELDS : FIELD_RULES

/**
 * The path under which a fault is counted: without the places in lists, which are many, and without names that a sender
 * chooses. Empty if the operation has no such field.
 */
export function countedPath(operation: string, path: string): string {
  const fields = fieldsOf(operation)
  if (!isRecordOperation(operation)) return Object.hasOwn(fields, path) ? path : ''
  const general = path.replace(/\.\d+(?=\.|$)/g, '.*')
  const [first = ''] = general.split('.', 1)
  return [general, first].find((name) => Object.hasOwn(fields, name)) ?? ''
}
