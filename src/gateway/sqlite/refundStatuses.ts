import {
  DEFAULT_ORDER_SETTINGS,
  MAX_REFUND_STATUSES,
  readRefundStatus,
} from '../customers/orderSettings.ts'

/**
 * The refund statuses of a customer as they are stored. A list that is damaged is empty, with the reason.
 *
 * @param text JSON. Null: the default.
 */
export function readStatuses(text: string | null): {
  readonly value: readonly string[]
  readonly reason?: string
} {
  if (text === null) return { value: DEFAULT_ORDER_SETTINGS.refundStatuses }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { value: [], reason: 'It is not JSON' }
  }
  const isGood = (status: unknown) =>
    typeof status === 'string' && readRefundStatus(status) === status
  return Array.isArray(value) && value.length <= MAX_REFUND_STATUSES && value.every(isGood)
    ? { value }
    : { value: [], reason: 'Expected a list of statuses in lower case' }
}
