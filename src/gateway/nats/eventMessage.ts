import type { LogEvent } from '../collect/eventLog.ts'
import { isUuid } from '../sqlite/uuid.ts'

/** The event without its customer, which is in the subject of the message. */
type Head = readonly [
  id: string,
  at: number,
  receivedAt: number,
  operation: string,
  event: string,
  did: string | null,
  bot: 0 | 1,
  version: string | null,
  cookieless: 0 | 1 | null,
]

const NEWLINE = 0x0a

/**
 * An event as the data of a message: a line of JSON with its properties, then its payload as it is. So the payload is
 * not encoded a second time.
 */
export function encodeEvent(event: LogEvent): Buffer {
  const { id, at, receivedAt, operation, did, bot, version, cookieless, payload } = event
  const isCookieless = cookieless === undefined ? null : cookieless ? 1 : 0
  const head: Head = [
    ...([id, at, receivedAt, operation, event.event, did] as const),
    ...([bot ? 1 : 0, version, isCookieless] as const),
  ]
  return Buffer.from(`${JSON.stringify(head)}\n${payload}`)
}

/** @throws Error if the data is not that of an event. */
export function decodeEvent(customer: string, data: Uint8Array): LogEvent {
  const end = data.indexOf(NEWLINE)
  const text = Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  const head: unknown = JSON.parse(text.toString('utf8', 0, end))
  if (!isHead(head)) throw new SyntaxError('The message is not that of an event')
  const [id, at, receivedAt, operation, event, did, bot, version, cookieless] = head
  return {
    ...{ customer, id, at, receivedAt, operation, event, did, bot: bot === 1, version },
    ...(cookieless !== null && { cookieless: cookieless === 1 }),
    payload: text.toString('utf8', end + 1),
  }
}

/** A row that SQLite refuses would stop the copy of the whole stream. An empty operation marks a removed event. */
function isHead(head: unknown): head is Head {
  if (!Array.isArray(head)) return false
  const [id, at, receivedAt, operation, event, did, , version] = head
  return (
    isUuid(id) &&
    Number.isSafeInteger(at) &&
    Number.isSafeInteger(receivedAt) &&
    typeof operation === 'string' &&
    operation !== '' &&
    typeof event === 'string' &&
    isTextOrNull(did) &&
    isTextOrNull(version)
  )
}

const isTextOrNull = (value: unknown): boolean => typeof value === 'string' || value === null

/** The message id: repetitions within the duplicate window of the stream are not stored. */
export const messageIdOf = ({ customer, id }: LogEvent): string => `${customer}/${id.toLowerCase()}`
