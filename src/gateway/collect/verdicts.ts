import { UUID, type Verdict } from '../../contract/index.ts'
import { invalid, type Refusal } from '../http/answers.ts'
import type { LogEvent } from './eventLog.ts'

/** The result for one event. */
export type JudgedEvent =
  | {
      readonly ok: true
      readonly id: string
      readonly event: LogEvent
      readonly isIgnored: boolean
      /** Whether `did` is the hash of the day. */
      readonly isCookieless: boolean
    }
  | Refusal

/** The result for one envelope: an event, a question (without `event`), or a refusal. */
export type Judged =
  | JudgedEvent
  | { readonly ok: true; readonly id: string; readonly event?: undefined }

/**
 * The body of a batch's answer. It must not be larger than the batch: otherwise strangers could make the gateway send
 * much more than they send. If it is, the issues are left out, then the messages too. If that is not enough, the whole
 * batch is refused. Its size does not depend on `missing`.
 *
 * @param missing The ids of questions that are not stored.
 */
export function writeVerdicts(
  judged: readonly Judged[],
  events: readonly unknown[],
  maxBytes: number,
  missing: ReadonlySet<string> = new Set(),
): { readonly ok: true; readonly text: string } | Refusal {
  const write = (toDetails: (refusal: Refusal) => Partial<Verdict>) =>
    JSON.stringify({
      results: judged.map(
        (one, i): Verdict =>
          one.ok
            ? {
                id: one.id,
                status: !one.event && missing.has(one.id) ? 404 : 200,
                ...(one.event && one.isIgnored && { ignored: true as const }),
              }
            : { id: idOf(events[i]), status: one.status, ...toDetails(one) },
      ),
    })
  for (const toDetails of [
    ({ message, issues }: Refusal) => ({ message, ...(issues && { issues }) }),
    ({ message }: Refusal) => ({ message }),
    () => ({}),
  ]) {
    const text = write(toDetails)
    if (Buffer.byteLength(text) <= maxBytes) return { ok: true, text }
  }
  return invalid('The batch is invalid', [
    { path: 'events', message: 'Expected events of the form {id, at, payload}' },
  ])
}

/** The id of a refused event. Empty if it is not a UUID: the answer does not repeat other texts of the sender. */
export function idOf(envelope: unknown): string {
  const id = asObject(envelope)?.id
  return typeof id === 'string' && UUID.test(id) ? id : ''
}

/** A value that is an object and no list. */
export const asObject = (value: unknown): Record<string, unknown> | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined
