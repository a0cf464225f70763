/** A field of an event in words. */
export type FieldRule = {
  /** What its value must be. */
  readonly rule: string
  /** How a page or a server supplies it. */
  readonly supply: string
  /** Whether it may be missing, so that only a wrong value is a fault. Default: not. */
  readonly optional?: boolean
}

const TEXT = 'text of 1 to 2,048 characters'
const OPTIONAL = 'text of at most 2,048 characters'
const WHOLE = 'a whole number from 1 on'

const field = (rule: string, supply: string): FieldRule => ({ rule, supply })
const attribute = (name: string, argument: string, more = ''): string =>
  `Put data-track-${name} on the element that reports it${more}, or pass ${argument} to the helper`

/** Every field that can be the fault of an event, by its path. */
export const FIELD_RULES: Readonly<Record<string, FieldRule>> = {
  did: field(
    'text of 1 to 128 characters',
    'The script fills it in. If it is missing, the key’s setting consent and the consent of the page differ: compare them with track_debug=1. A server passes the visitor’s did',
  ),
  event: field('text of 1 to 128 characters', 'Pass event, or leave it out for the usual name'),
  url: field(
    'an http or https URL of at most 8,192 characters',
    'Leave it out in the page, where the script fills it in. A server passes the address of the page',
  ),
  http_user_agent: field(
    'text that is not blank',
    'The script or the gateway fills it in. A server passes the visitor’s user agent',
  ),
  remote_addr: field(TEXT, 'The gateway fills it in. A server passes the visitor’s address'),
  source: field(OPTIONAL, 'Leave it out, or pass text'),
  product_id: field(
    'a whole number from 1 on (for viewProduct: text of 1 to 2,048 characters)',
    attribute('product-id', 'product_id', ' or around it'),
  ),
  quantity: field(
    WHOLE,
    attribute('quantity (or data-track-quantity-from="SELECTOR")', 'quantity as a number'),
  ),
  variation: field(
    'an object with id and sku',
    attribute('variation-id and data-track-variation-sku', 'variation: { id, sku }'),
  ),
  'variation.id': field(TEXT, attribute('variation-id', 'variation: { id, sku }', ' or around it')),
  'variation.sku': field(
    TEXT,
    attribute('variation-sku', 'variation: { id, sku }', ' or around it'),
  ),
  email_address: field(
    'an e-mail address',
    'Put data-track="setEmail" on the form whose field has type="email", or pass email_address to the helper only when the visitor has given a whole address',
  ),
  firstname: field(OPTIONAL, attribute('firstname', 'firstname (may be empty)')),
  lastname: field(OPTIONAL, attribute('lastname', 'lastname (may be empty)')),
  phone: field(OPTIONAL, attribute('phone', 'phone as text (may be empty)')),
  search_term: field(
    TEXT,
    'Put data-track="search" on the form whose field has type="search", name the field with data-track-search-term-from="SELECTOR", or pass search_term to the helper. Do not report an empty search',
  ),
  email: field(
    'an e-mail address',
    'Pass the visitor’s whole address as email, and call sendCustom only when it is known',
  ),
  id: field('a UUID', 'Send a new UUID for each event, and the same one when it is repeated'),
  events: field('a list of {id, at, payload}', 'Send {"sent", "events": […]} to /t/batch'),
}
