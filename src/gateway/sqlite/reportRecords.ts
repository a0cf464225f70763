import { normalizeStatus } from '../customers/orderSettings.ts'

/** Reads a payload. The gateway stores only what fits the contract; anything else is left out. */
function parse(payload: string): Record<string, unknown> | undefined {
  try {
    const value = JSON.parse(payload)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined

/** The order of a saveOrder. */
export function readOrder(payload: string) {
  const order = parse(payload)
  const number = textOf(order?.number)
  const currency = textOf(order?.currency)
  const total = (order?.minor as { total_value?: unknown } | undefined)?.total_value
  if (number === undefined || currency === undefined || !Number.isSafeInteger(total))
    return undefined
  return { number, currency, total: total as number, email: textOf(order?.email_address) }
}

/** The status of an updateOrderStatus, as statuses are compared. */
export function readStatus(payload: string) {
  const status = parse(payload)
  const number = textOf(status?.order_number)
  const text = textOf(status?.order_status)
  if (number === undefined || text === undefined) return undefined
  return { number, status: normalizeStatus(text) }
}

/** The address that an event of a device gives. */
export function readEmail(payload: string): string | undefined {
  const event = parse(payload)
  return textOf(event?.email_address) ?? textOf(event?.email)
}
