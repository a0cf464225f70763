import { toUSVString } from 'node:util'
import type { TrackingOperation } from '../../contract/index.ts'
import { namesToMask } from '../../contract/maskUrl.ts'
import type { KeySettings } from '../../contract/settings.ts'
import type { Customer, CustomerFault } from '../customers/customers.ts'
import { createIsIgnored, readIgnored } from '../customers/ignored.ts'
import { type AddressForm, isAddressForm } from '../customers/keptAddresses.ts'
import { checkStoredSettings } from '../customers/keySettings.ts'
import { HASH_BYTES } from '../lib/secret.ts'

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
}

type Read<Value> = { readonly value: Value; readonly reason?: string }

/**
 * Reads a row. A row that is damaged or was written by a newer version gives a customer with faults instead of an
 * error, so that the list and the other customers are not affected.
 */
export function toCustomer(row: CustomerRow): Customer {
  const origins = readOrigins(row.origins)
  const config = readConfig(row.config)
  const restKey = row.rest_key_hash.length === HASH_BYTES ? undefined : 'Expected the hash of a key'
  const ignored = readIgnoredList(row.ignored ?? '[]')
  const addresses = readAddressForm(row.addresses ?? 'whole')
  const faults: CustomerFault[] = [
    ...(config.reason ? [{ part: 'config' as const, reason: config.reason }] : []),
    ...(origins.reason ? [{ part: 'origins' as const, reason: origins.reason }] : []),
    ...(ignored.reason ? [{ part: 'ignored' as const, reason: ignored.reason }] : []),
    ...(addresses.reason ? [{ part: 'addresses' as const, reason: addresses.reason }] : []),
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
    // A hash that no key has.
    restKeyHash: restKey ? Buffer.alloc(HASH_BYTES) : row.rest_key_hash,
    createdAt: row.created_at,
    dailyEvents: row.daily_events ?? undefined,
    dailyBytes: row.daily_bytes ?? undefined,
    ignored: ignored.value,
    isIgnored: createIsIgnored(ignored.value),
    addresses: addresses.value,
    retentionDays: row.retention_days ?? undefined,
    faults,
  }
}

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
