import { isRecordOperation } from '../../contract/recordOperations.ts'
import { FIELD_RULES, type FieldRule } from './fieldRules.ts'

const TEXT = 'text of at most 2,048 characters'
const ID = 'text of 1 to 128 characters that is not blank, or a whole number'
const AMOUNT =
  'an amount that can be read exactly in the customer’s currency, such as 1234.5 or "1,234.50"'
const LIST = 'a list of short texts, or one text with commas'

const CORRECT = 'Correct it in what the shop’s server sends'
const ANSWER = ': the answer to the call names the value'
const CURRENCY = '. Amounts are in the currency of the customer’s settings'

const required = (rule: string): FieldRule => ({
  rule,
  supply: `${CORRECT}${ANSWER}${rule === AMOUNT ? CURRENCY : ''}`,
})
const optional = (rule: string): FieldRule => ({
  rule,
  supply: `${CORRECT}, or leave it out${ANSWER}${rule === AMOUNT ? CURRENCY : ''}`,
  optional: true,
})

/**
 * The fields of orders and subscribers, by their paths. A star stands for the place in a list. They are sent by a shop's
 * server, so their advice is not that of the fields of a page.
 */
export const RECORD_FIELDS: Readonly<Record<string, FieldRule>> = {
  number: required(ID),
  email_address: optional('an e-mail address'),
  phone: optional(TEXT),
  firstname: optional(TEXT),
  lastname: optional(TEXT),
  city: optional(TEXT),
  county: optional(TEXT),
  address: optional(TEXT),
  discount_value: optional(AMOUNT),
  discount_code: optional(TEXT),
  shipping: optional(AMOUNT),
  tax: optional(AMOUNT),
  total_value: required(AMOUNT),
  products: optional('a list of at most 500 products'),
  'products.*': required('a product with product_id, price and quantity'),
  'products.*.product_id': required(ID),
  'products.*.price': required(AMOUNT),
  'products.*.quantity': required('a number from 0 to 999,999,999'),
  'products.*.variation_sku': optional(TEXT),
  order_number: required(ID),
  order_status: required(ID),
  email: required('an e-mail address'),
  name: optional(TEXT),
  add_tags: optional(LIST),
  country: optional(TEXT),
  birthday: optional('a date as YYYY-MM-DD'),
  channels: optional(LIST),
  attributes: optional('an object of at most 100 names with text, numbers, true or false'),
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
