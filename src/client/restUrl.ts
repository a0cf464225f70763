import type { Settings } from './options.ts'

/** What an address under `apiPath` is made of. */
export type RestAddress = Pick<Settings, 'apiUrl' | 'restKey' | 'customerId'>

/** The address of a call under `apiPath`, with the REST key and the customer ID in its query. */
export const restUrlOf = (
  { apiUrl, restKey, customerId }: RestAddress,
  path:
    | 'save_order'
    | 'update_order_status'
    | 'add_subscriber'
    | 'remove_subscriber'
    | 'unsubscribed_emails',
): string =>
  `${apiUrl}/${path}?k=${encodeURIComponent(restKey)}&u=${encodeURIComponent(customerId)}`
