import type { LogRecord } from '../collect/eventLog.ts'

/** Larger payloads are shortened for views, bytes of UTF-8. */
export const MAX_SHOWN_BYTES = 16_384
/** Longer texts of a large payload are cut, UTF-16 code units. */
export const MAX_SHOWN_TEXT = 256

/**
 * One event as a server-sent message: `event: event`, its position as the id, and as data the record without its
 * customer, JSON.
 *
 * A payload above 16 KiB is shortened: texts above 256 characters are cut and end in `…`, and `storedBytes` is the size
 * of the stored payload.
 */
export function toMessage({ customer: _, payload, ...record }: LogRecord): string {
  const storedBytes = Buffer.byteLength(payload)
  const isLarge = storedBytes > MAX_SHOWN_BYTES
  const shown = {
    ...record,
    event: cut(record.event),
    did: record.did === null ? null : cut(record.did),
    ...(isLarge && { storedBytes }),
  }
  const data = `${JSON.stringify(shown).slice(0, -1)},"payload":${isLarge ? shorten(payload) : payload}}`
  return `event: event\nid: ${record.seq}\ndata: ${data}\n\n`
}

const cut = (text: string): string =>
  text.length > MAX_SHOWN_TEXT
    ? `${text.slice(0, MAX_SHOWN_TEXT).replace(/[\uD800-\uDBFF]$/, '')}…`
    : text

/** A payload with its long texts cut. An empty one if that is not enough, or if it is not JSON. */
function shorten(payload: string): string {
  try {
    const shortened = JSON.stringify(
      JSON.parse(payload, (_, value) => (typeof value === 'string' ? cut(value) : value)),
    )
    return Buffer.byteLength(shortened) > MAX_SHOWN_BYTES ? '{}' : shortened
  } catch {
    return '{}'
  }
}
