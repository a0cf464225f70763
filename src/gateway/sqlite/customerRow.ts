import { toUSVString } from 'node:util'
import type { TrackingOperation } from '../../contract/index.ts'
import { namesToMask } from '../../contract/maskUrl.ts'
import type { KeySettings } from '../../contract/settings.ts'
import { type Customer, type CustomerFault, NO_KEY_HASH } from '../customers/customers.ts'
import { createIsIgnored, readIgnored } from '../customers/ignored.ts'
import { type AddressForm, isAddressForm } from '../customers/keptAddresses.ts'
import { checkStoredSettings } from '../customers/keySettings.ts'
import { DEFAULT_ORDER_SETTINGS, readCurrency, readTimeZone } from '../customers/orderSettings.ts'
import type { OldKey } from '../customers/overlap.ts'
import { HASH_BYTES } from '../lib/secret.ts'
import { readStatuses } from './refundStatuses.ts'

/** A customer as its row in customers.db. */
export type CustomerRow = {
  readonly customer_id: string
  readonly name: string
  readonly tracking_key: string
  readonly rest_key_hash: Buffer
  /** JSON: a list of origins. */
  readonly origins: string
  /** JSON: a KeySettings. */
  readonly config: string
  readonly created_at: number
  /** Null: the quota of the settings applies. */
  readonly daily_events: number | null
  readonly daily_bytes: number | null
  /** JSON: a list of addresses and networks. Null if there are none. */
  readonly ignored: string | null
  /** An AddressForm. Null: whole. */
  readonly addresses: string | null
  /** Null: without a limit. */
  readonly retention_days: number | null
  /** Null: the default of each of these three. */
  readonly currency: string | null
  readonly time_zone: string | null
  /** JSON: a list of texts. */
  readonly refund_statuses: string | null
  /** Hash of the old REST key, hex. Null if there was no overlap, or it was ended. */
  readonly old_rest_hash: string | null
  readonly old_rest_until: number | null
  readonly old_tracking_key: string | null
  readonly old_tracking_until: number | null
}

/** The columns of the table `customers`. */
export type NewRow = Pick<
  CustomerRow,
  'customer_id' | 'name' | 'tracking_key' | 'rest_key_hash' | 'origins' | 'config' | 'created_at'
>

type Read<Value> = { readonly value: Value; readonly reason?: string }

/**
 * Reads a row. A row that is damaged or was written by a newer version gives a customer with faults instead of an
 * error, so that the list and the other customers are not affected.
 *
 * @param now The clock, ms since 1970.
 */
export function toCustomer(row: CustomerRow, now: () => number): Customer {
  const origins = readOrigins(row.origins)
  const config = readConfig(row.config)
  const restKey = row.rest_key_hash.length === HASH_BYTES ? undefined : 'Expected the hash of a key'
  const ignored = readIgnoredList(row.ignored ?? '[]')
  const addresses = readAddressForm(row.addresses ?? 'whole')
  const currency = readStored(row.currency, 'currency', readCurrency, 'a code of ISO 4217')
  const timeZone = readStored(row.time_zone, 'timeZone', readTimeZone, 'a name of IANA')
  const refundStatuses = readStatuses(row.refund_statuses)
  const oldRest = toOldKey(readHash(row.old_rest_hash), row.old_rest_until)
  const faults: CustomerFault[] = [
    ...(config.reason ? [{ part: 'config' as const, reason: config.reason }] : []),
    ...(origins.reason ? [{ part: 'origins' as const, reason: origins.reason }] : []),
    ...(ignored.reason ? [{ part: 'ignored' as const, reason: ignored.reason }] : []),
    ...(addresses.reason ? [{ part: 'addresses' as const, reason: addresses.reason }] : []),
    ...(currency.reason ? [{ part: 'currency' as const, reason: currency.reason }] : []),
    ...(timeZone.reason ? [{ part: 'timeZone' as const, reason: timeZone.reason }] : []),
    ...(refundStatuses.reason
      ? [{ part: 'refundStatuses' as const, reason: refundStatuses.reason }]
      : []),
    ...(restKey ? [{ part: 'restKey' as const, reason: restKey }] : []),
  ]
  return {
    customerId: row.customer_id,
    name: row.name,
    trackingKey: row.tracking_key,
    origins: origins.value,
    config: config.value,
    configText: row.config,
    operations: new Map(
      Object.entries(config.value.events ?? {}).map(([operation, name]) => [
        name as string,
        operation as TrackingOperation,
      ]),
    ),
    // Well-formed, because halves of characters can not be encoded.
    masked: namesToMask(toUSVString((config.value.mask ?? []).join())),
    restKeyHash: restKey ? NO_KEY_HASH : row.rest_key_hash,
    oldRestKeyHash: oldRest
      ? () => (now() < oldRest.until ? oldRest.value : NO_KEY_HASH)
      : noOldKey,
    overlaps: {
      rest: oldRest,
      tracking: toOldKey(row.old_tracking_key ?? undefined, row.old_tracking_until),
    },
    createdAt: row.created_at,
    dailyEvents: row.daily_events ?? undefined,
    dailyBytes: row.daily_bytes ?? undefined,
    ignored: ignored.value,
    isIgnored: createIsIgnored(ignored.value),
    addresses: addresses.value,
    retentionDays: row.retention_days ?? undefined,
    currency: currency.value,
    timeZone: timeZone.value,
    refundStatuses: refundStatuses.value,
    faults,
  }
}

/** Undefined if it is not the hash of a key, which then does not work. */
function readHash(hex: string | null): Buffer | undefined {
  const hash = Buffer.from(hex ?? '', 'hex')
  return hash.length === HASH_BYTES ? hash : undefined
}

const noOldKey = () => NO_KEY_HASH

const toOldKey = <Value>(
  value: Value | undefined,
  until: number | null,
): OldKey<Value> | undefined =>
  value === undefined || until === null ? undefined : { value, until }

function readOrigins(text: string): Read<readonly string[]> {
  const value = readJson(text)
  if (value === undefined) return { value: [], reason: 'It is not JSON' }
  return Array.isArray(value) && value.every((origin) => typeof origin === 'string')
    ? { value }
    : { value: [], reason: 'Expected a list of origins' }
}

function readIgnoredList(text: string): Read<readonly string[]> {
  const value = readJson(text)
  if (value === undefined) return { value: [], reason: 'It is not JSON' }
  const isGood = (entry: unknown) => typeof entry === 'string' && readIgnored(entry).ok
  return Array.isArray(value) && value.every(isGood)
    ? { value }
    : { value: [], reason: 'Expected a list of addresses and networks' }
}

/** Keeps no address if the value is damaged. */
const readAddressForm = (text: string): Read<AddressForm> =>
  isAddressForm(text) ? { value: text } : { value: 'none', reason: 'Expected whole, short or none' }

/** A setting that the command line has written as `read` returns it. */
function readStored(
  text: string | null,
  name: 'currency' | 'timeZone',
  read: (text: string) => string | undefined,
  expected: string,
): Read<string> {
  const byDefault = DEFAULT_ORDER_SETTINGS[name]
  if (text === null) return { value: byDefault }
  return read(text) === text
    ? { value: text }
    : { value: byDefault, reason: `Expected ${expected}, got ${JSON.stringify(text)}` }
}

function readConfig(text: string): Read<KeySettings> {
  const value = readJson(text)
  if (value === undefined) return { value: {}, reason: 'It is not JSON' }
  if (Array.isArray(value)) return { value: {}, reason: 'Expected an object' }
  const read = checkStoredSettings(value)
  if (read.ok) return { value: read.settings }
  return {
    value: {},
    reason: read.issues
      .map(({ path, message }) => (path ? `${path}: ${message}` : message))
      .join('; '),
  }
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
