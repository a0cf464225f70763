import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { validate } from '../contract/index.ts'
import { placeOf } from './clusterCommand.ts'
import {
  type Customer,
  type CustomerChange,
  type CustomerFault,
  type Customers,
  isRestKey,
  REST_KEY_RULE,
} from './customers/customers.ts'
import { MAX_IGNORED, readIgnored } from './customers/ignored.ts'
import { ADDRESS_FORMS, type AddressForm, isAddressForm } from './customers/keptAddresses.ts'
import { checkKeySettings } from './customers/keySettings.ts'
import type { OrderSettingsChange } from './customers/orderSettings.ts'
import { MAX_RETENTION_DAYS } from './customers/retention.ts'
import { findMismatch } from './dataCommand.ts'
import { MAX_LIMIT } from './http/limits.ts'
import { readOrigin } from './http/origins.ts'
import { type Done, done, type Fault, failed, misused } from './lib/command.ts'
import { linesOfOrders, type OrderOptions, readOrderOptions } from './orderOptions.ts'
import { oldKeysOf, rotate } from './rotateCommand.ts'
import type { Settings } from './settings.ts'
import { createSqliteCustomers } from './sqlite/customers.ts'
import { prepareDataFolder } from './sqlite/dataFolder.ts'

/** Options of `shoptrail customer …`, as they were typed. */
export type CustomerOptions = OrderOptions & {
  readonly origin?: string[] | undefined
  readonly name?: string | undefined
  readonly config?: string | undefined
  readonly id?: string | undefined
  readonly key?: string | undefined
  readonly overlap?: string | undefined
  readonly end?: boolean | undefined
  readonly 'tracking-key'?: string | undefined
  readonly 'daily-events'?: string | undefined
  readonly 'daily-bytes'?: string | undefined
  readonly ignore?: string[] | undefined
  readonly addresses?: string | undefined
  readonly 'retention-days'?: string | undefined
  readonly yes?: boolean | undefined
}

/** The options of everything that can be changed later. */
const CHANGES = [
  'origin',
  'name',
  'config',
  'daily-events',
  'daily-bytes',
  'ignore',
  'addresses',
  'retention-days',
  'currency',
  'time-zone',
  'refund-status',
]

/** The verbs of `customer`, each with its options. */
export const VERBS: ReadonlyMap<string, readonly string[]> = new Map([
  ['add', [...CHANGES, 'id', 'tracking-key']],
  ['list', []],
  ['set', CHANGES],
  ['rotate', ['key', 'overlap', 'end']],
  ['remove', ['yes']],
])

/**
 * `customer add | list | set | rotate | remove`. A running gateway with the same data sees the change within a second.
 *
 * @param words The words after `customer`. The first is one of VERBS.
 * @param ownRestKey REST key for a new customer. Never in `words`, since every user of a machine can read the command
 * lines of all processes. Default: a new key.
 * @throws Error if the data can not be opened.
 */
export function runCustomer(
  words: readonly string[],
  options: CustomerOptions,
  settings: Settings,
  ownRestKey?: string,
): Done {
  const [verb, id, ...more] = words
  const takesId = verb !== 'add' && verb !== 'list'
  if (more.length > 0 || (id !== undefined && !takesId))
    return misused(`customer ${verb} takes no ${takesId ? more[0] : id}`)
  if (takesId && !id) return misused(`Expected the id of a customer: customer ${verb} ID`)
  const read = readChange(options)
  if (!read.ok) return read
  const folder = resolve(settings.dataDir)
  prepareDataFolder(folder)
  const mismatch = findMismatch(folder)
  if (mismatch) return failed(mismatch)
  const file = join(folder, 'customers.db')
  // Only `add` creates the file, so that a wrong DATA_DIR stays empty.
  if (verb !== 'add' && !existsSync(file))
    return verb === 'list' ? done(...list([], settings)) : failed(unknown(id, settings))
  const customers = createSqliteCustomers(file)
  try {
    if (verb === 'add') return add(customers, read.asked, options, settings, ownRestKey)
    if (verb === 'list') return done(...list(customers.list(), settings))
    if (!customers.find(id as string)) return failed(unknown(id, settings))
    return changeOne(customers, verb as string, id as string, read.asked, options, settings)
  } finally {
    customers.close()
  }
}

const unknown = (id: string | undefined, settings: Settings): string =>
  `There is no customer ${id} in ${placeOf(settings)}`

function add(
  customers: Customers,
  asked: Asked,
  { id: customerId, 'tracking-key': trackingKey }: CustomerOptions,
  settings: Settings,
  ownRestKey: string | undefined,
): Done {
  if (!asked.origins)
    return misused(
      'Expected the origin of the pages that send events: --origin https://shop.example',
    )
  if (customerId !== undefined && !/^[\w.-]{1,64}$/.test(customerId))
    return misused('Expected an --id of 1 to 64 letters, digits, dots, hyphens and underscores')
  if (trackingKey !== undefined && !isTrackingKey(trackingKey))
    return misused('Expected a --tracking-key of 6 to 20 characters, without spaces at its ends')
  if (ownRestKey !== undefined && !isRestKey(ownRestKey))
    return misused(`Expected in REST_KEY a key of ${REST_KEY_RULE}`)
  const change = toChange(asked, {})
  if (!change.ok) return change
  const { customer, restKey } = customers.add({
    ...change.change,
    ...(customerId && { customerId }),
    ...(trackingKey && { trackingKey }),
    ...(ownRestKey && { restKey: ownRestKey }),
  })
  const port = settings.port || 'PORT'
  const base = settings.publicUrl ?? `http://localhost:${port}`
  const script = `${base}/t/j/${encodeURIComponent(customer.trackingKey)}`
  return done(
    ...[
      `customerId   ${customer.customerId}`,
      `trackingKey  ${customer.trackingKey}`,
      `restKey      ${ownRestKey ? '(the one in REST_KEY)' : restKey}`,
      '',
      'The restKey is a secret of your servers. It is not stored and can not be shown again.',
      `The customer is stored in ${placeOf(settings)}.`,
      `In the shop's pages: <script async src="${script}"></script>`,
      settings.publicUrl
        ? `(${base} is the PUBLIC_URL of the settings.)`
        : `(${base} works on this machine only, while the gateway listens on port ${port}. If you start it with another PORT, use that port in the tag. For other machines use the address of your gateway, or set PUBLIC_URL.)`,
      `What to paste, and what arrives of it: ${base}/setup/`,
      ...retentionNote(asked),
    ],
  )
}

const isTrackingKey = (trackingKey: string): boolean =>
  trackingKey === trackingKey.trim() && validate('serveJavascript', { trackingKey }).ok

function changeOne(
  customers: Customers,
  verb: string,
  id: string,
  asked: Asked,
  options: CustomerOptions,
  settings: Settings,
): Done {
  if (verb === 'set' && Object.keys(asked).length === 0)
    return misused(`Expected one of ${CHANGES.map((option) => `--${option}`).join(', ')}`)
  const customer = customers.find(id) as Customer
  if (verb === 'remove') {
    if (!options.yes)
      return misused(
        `This removes the keys of ${id}: its pages can not send events any more. Its events stay. Its id and tracking key can never be used again. To confirm: npx shoptrail customer remove ${id} --yes`,
      )
    customers.remove(id)
    return done(`Removed ${id}`)
  }
  if (verb === 'set') {
    // Not `config`: invalid settings are missing in it, and could not be removed.
    const change = toChange(asked, readObject(customer.configText) ?? {})
    if (!change.ok) return change
    const changed = linesOf([customers.change(id, change.change) as Customer], settings)
    return done(...changed, ...retentionNote(asked))
  }
  return rotate(customers, id, options)
}

/** What a retention means for unsubscriptions, since nobody would expect to lose them. */
function retentionNote({ retentionDays }: Asked): readonly string[] {
  if (typeof retentionDays !== 'number') return []
  const often = retentionDays > 2 ? `every ${retentionDays - 1} days` : 'every few hours'
  return [
    '',
    `Unsubscriptions are removed with the events. A shop that reads unsubscribed_emails has to do so at least ${often}.`,
  ]
}

/** The change that was typed. `config` has only the settings that were typed. */
type Asked = OrderSettingsChange & {
  readonly name?: string
  readonly origins?: string[]
  readonly config?: Readonly<Record<string, unknown>>
  readonly dailyEvents?: number | null
  readonly dailyBytes?: number | null
  readonly ignored?: string[]
  readonly addresses?: AddressForm
  readonly retentionDays?: number | null
}

function readChange(
  options: CustomerOptions,
): { readonly ok: true; readonly asked: Asked } | Fault {
  const { origin, name, config, addresses } = options
  const origins: string[] = []
  for (const text of origin ?? []) {
    const read = readOrigin(text)
    if (!read.ok) return misused(`${text} is not an origin: ${read.message}`)
    origins.push(read.origin)
  }
  const settings = config === undefined ? undefined : readObject(config)
  if (config !== undefined && !settings)
    return misused(
      `--config is not a JSON object: ${config}`,
      `  Example: --config '{"ga4":true}', in single quotes, because the shell removes double ones`,
      `  (Windows: --config "{\\"ga4\\":true}")`,
    )
  const quotas = readQuotas(options)
  if (!quotas.ok) return quotas
  const ignored = readIgnoredOnes(options.ignore)
  if (!ignored.ok) return ignored
  if (addresses !== undefined && !isAddressForm(addresses))
    return misused(`Expected --addresses as one of ${ADDRESS_FORMS.join(', ')}: ${addresses}`)
  const retention = readRetention(options['retention-days'])
  if (!retention.ok) return retention
  const orders = readOrderOptions(options)
  if (!orders.ok) return orders
  return {
    ok: true,
    asked: {
      ...(name !== undefined && { name }),
      ...(origin && { origins }),
      ...(settings && { config: settings }),
      ...quotas.asked,
      ...ignored.asked,
      ...(addresses && { addresses }),
      ...retention.asked,
      ...orders.change,
    },
  }
}

/** A number, or null for `default`, which removes the customer's own quota. */
function readQuotas(
  options: CustomerOptions,
): { readonly ok: true; readonly asked: Asked } | Fault {
  const asked: { dailyEvents?: number | null; dailyBytes?: number | null } = {}
  for (const [option, field] of [
    ['daily-events', 'dailyEvents'],
    ['daily-bytes', 'dailyBytes'],
  ] as const) {
    const text = options[option]
    if (text === undefined) continue
    const quota = text === 'default' ? null : Number(text)
    if (quota !== null && (!/^\d{1,15}$/.test(text) || quota < 1 || quota > MAX_LIMIT))
      return misused(
        `Expected --${option} as a whole number from 1 to ${MAX_LIMIT}, or default: ${text}`,
      )
    asked[field] = quota
  }
  return { ok: true, asked }
}

/** A number of days, or null for `none`: without a limit. */
function readRetention(
  text: string | undefined,
): { readonly ok: true; readonly asked: Asked } | Fault {
  if (text === undefined) return { ok: true, asked: {} }
  const days = text === 'none' ? null : Number(text)
  if (days !== null && (!/^\d{1,4}$/.test(text) || days < 1 || days > MAX_RETENTION_DAYS))
    return misused(
      `Expected --retention-days as a whole number from 1 to ${MAX_RETENTION_DAYS}, or none: ${text}`,
    )
  return { ok: true, asked: { retentionDays: days } }
}

/** Addresses and networks. Only `none` is an empty list. */
function readIgnoredOnes(
  texts: readonly string[] | undefined,
): { readonly ok: true; readonly asked: Asked } | Fault {
  if (!texts) return { ok: true, asked: {} }
  const ignored = new Set<string>()
  for (const text of `${texts}` === NO_ADDRESSES ? [] : texts) {
    const read = readIgnored(text)
    if (!read.ok) return misused(`--ignore ${text}: ${read.message}`)
    ignored.add(read.entry)
  }
  return ignored.size > MAX_IGNORED
    ? misused(`Expected at most ${MAX_IGNORED} times --ignore: name networks in place of addresses`)
    : { ok: true, asked: { ignored: [...ignored] } }
}

/** Empties the list of ignored addresses. */
const NO_ADDRESSES = 'none'

function readObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** Merges the typed settings into the stored ones. Null removes one. */
function toChange(
  { config, ...rest }: Asked,
  before: Readonly<Record<string, unknown>>,
): { readonly ok: true; readonly change: CustomerChange } | Fault {
  if (!config) return { ok: true, change: rest }
  const merged = Object.entries({ ...before, ...config }).filter(([, value]) => value !== null)
  const checked = checkKeySettings(Object.fromEntries(merged))
  if (checked.ok) return { ok: true, change: { ...rest, config: checked.settings } }
  const faults = checked.issues.map(({ path, message }) =>
    path ? `  ${path}: ${message}` : `  ${message}`,
  )
  return misused('--config is invalid:', ...faults)
}

const list = (customers: readonly Customer[], settings: Settings): string[] =>
  customers.length === 0
    ? [
        `There are no customers in ${placeOf(settings)} yet: npx shoptrail customer add --origin https://shop.example`,
      ]
    : linesOf(customers, settings)

function linesOf(customers: readonly Customer[], { limits }: Settings): string[] {
  return customers.flatMap((customer, i) => {
    const { customerId, name, trackingKey, origins, configText, faults } = customer
    const { dailyEvents, dailyBytes, ignored, addresses, retentionDays } = customer
    return [
      ...(i > 0 ? [''] : []),
      `${customerId}${name && ` (${name})`}`,
      `  trackingKey  ${trackingKey}`,
      ...oldKeysOf(customer),
      `  origins      ${origins.join(' ') || 'none'}`,
      `  config       ${configText}`,
      `  daily quota  ${quota(dailyEvents, limits.daily.events, 'events')}, ${quota(dailyBytes, limits.daily.bytes, 'bytes')}`,
      ...(ignored.length > 0 ? [`  ignored      ${ignored.join(' ')}`] : []),
      `  addresses    ${addresses}${addresses === 'whole' ? ' (default)' : ''}`,
      `  retention    ${retentionDays === undefined ? 'none: events are kept without a limit (default)' : `${retentionDays} ${retentionDays === 1 ? 'day' : 'days'}`}`,
      ...linesOfOrders(customer),
      ...faults.map(
        ({ part, reason }) =>
          `  UNUSABLE     ${part}: ${reason}. Its requests are answered 503. ${repair(customerId)[part]}`,
      ),
    ]
  })
}

/** One quota of a customer, marked if it is the default. */
const quota = (own: number | undefined, byDefault: number, unit: string): string =>
  `${(own ?? byDefault).toLocaleString('en')} ${unit}${own === undefined ? ' (default)' : ''}`

/** How to repair an unusable part. */
const repair = (id: string): Record<CustomerFault['part'], string> => ({
  config: `Correct the named setting, or remove it with null: npx shoptrail customer set ${id} --config '{…}'`,
  origins: `Set them again: npx shoptrail customer set ${id} --origin ORIGIN`,
  ignored: `Set them again: npx shoptrail customer set ${id} --ignore ADDRESS, or none`,
  addresses: `Set them again: npx shoptrail customer set ${id} --addresses FORM`,
  currency: `Set it again: npx shoptrail customer set ${id} --currency CODE`,
  timeZone: `Set it again: npx shoptrail customer set ${id} --time-zone ZONE`,
  refundStatuses: `Set them again: npx shoptrail customer set ${id} --refund-status STATUS, or default`,
  restKey: `Make a new one: npx shoptrail customer rotate ${id} --key rest`,
})
