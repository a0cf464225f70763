import { printableJson } from '../lib/printable.ts'
import type { Person } from './person.ts'

/** One event, as the log has it. */
export type PersonEvent = {
  /** A UUID. */
  readonly id: string
  readonly at: number
  readonly receivedAt: number
  readonly operation: string
  readonly event: string
  readonly did: string | null
  readonly bot: number
  /** JSON. */
  readonly payload: string
  /** Of the script that has sent it. */
  readonly version: string | null
}

/**
 * An export is one JSON document, `{customer, person, exported, devices, events}`, with an event a line: `{at,
 * receivedAt, id, operation, event, did, bot, version, payload}`. Times are ISO 8601 in UTC. The texts come from strangers, and
 * the command line prints them, so characters that a terminal executes are escaped.
 *
 * These are its pieces: the beginning, then `devicesJson` any number of times, BETWEEN_JSON, `eventJson` for each
 * event, and END_JSON.
 *
 * @param exported ms since 1970.
 */
export function beginJson(customer: string, person: Person, exported: number): string {
  const head = JSON.stringify({ customer, person, exported: iso(exported) })
  return `${printableJson(head.slice(0, -1))},"devices":[`
}

/** @param isFirst Whether no device was written before these. */
export const devicesJson = (dids: readonly string[], isFirst: boolean): string =>
  (isFirst ? '' : ',') + printableJson(JSON.stringify(dids).slice(1, -1))

export const BETWEEN_JSON = '],"events":['

/** @param isFirst Whether no event was written before this one. */
export function eventJson(row: PersonEvent, isFirst: boolean): string {
  const { id, at, receivedAt, operation, event, did, payload } = row
  const head = { at: iso(at), receivedAt: iso(receivedAt), id, operation, event, did }
  const text = JSON.stringify({ ...head, bot: row.bot === 1, version: row.version })
  return `${isFirst ? '' : ','}\n${printableJson(`${text.slice(0, -1)},"payload":${payload}}`)}`
}

export const END_JSON = '\n]}\n'

const iso = (ms: number): string => new Date(ms).toISOString()
