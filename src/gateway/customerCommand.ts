import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Customer, type CustomerChange, type Customers, createCustomers } from './customers.ts'
import { readOrigin } from './origins.ts'
import { readPublicConfig } from './publicConfig.ts'

/** Options of `shoptrail customer …`, as they were typed. */
export type CustomerOptions = {
  readonly origin?: string[] | undefined
  readonly name?: string | undefined
  readonly config?: string | undefined
  readonly id?: string | undefined
  readonly key?: string | undefined
}

/** What went wrong: with what was typed, or with what it asks for. */
type Fault = { readonly ok: false; readonly message: string; readonly isUsage: boolean }
/** What to print, or what went wrong. */
export type Done = { readonly ok: true; readonly text: string } | Fault

const misused = (message: string): Fault => ({ ok: false, message, isUsage: true })
const failed = (message: string): Fault => ({ ok: false, message, isUsage: false })
const told = (text: string): Done => ({ ok: true, text })

/**
 * `customer add | list | set | rotate | remove`. A gateway that runs over the same data sees the change
 * within a second.
 *
 * @param words What stands behind `customer`.
 * @param dataDir Folder of the databases, made where it is missing.
 */
export function runCustomer(
  words: readonly string[],
  options: CustomerOptions,
  dataDir: string,
): Done {
  const [verb, id, ...more] = words
  const takesId = verb !== 'add' && verb !== 'list'
  if (!verb || !['add', 'list', 'set', 'rotate', 'remove'].includes(verb))
    return misused(`There is no command customer ${words.join(' ')}`.trim())
  if (more.length > 0 || (id !== undefined && !takesId))
    return misused(`customer ${verb} takes no ${takesId ? more[0] : id}`)
  if (takesId && !id) return misused(`Whose? customer ${verb} ID`)
  const change = readChange(options)
  if (!change.ok) return change
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const customers = createCustomers(join(dataDir, 'customers.db'))
  try {
    if (verb === 'add') return add(customers, change.change, options.id)
    if (verb === 'list') return told(list(customers.list()))
    return changeOne(customers, verb, id as string, change.change, options.key)
  } finally {
    customers.close()
  }
}

function add(customers: Customers, change: CustomerChange, customerId: string | undefined): Done {
  if (!change.origins) return misused('Which pages may send events? --origin https://shop.example')
  if (customerId !== undefined && !/^[\w.-]{1,64}$/.test(customerId))
    return misused('Expected an --id of 1 to 64 letters, digits, dots, hyphens and underscores')
  if (customerId !== undefined && customers.find(customerId))
    return failed(`The customer ${customerId} exists`)
  const { customer, restKey } = customers.add({ ...change, ...(customerId && { customerId }) })
  return told(
    [
      `customerId   ${customer.customerId}`,
      `trackingKey  ${customer.trackingKey}`,
      `restKey      ${restKey}`,
      '',
      'The restKey is a secret of your servers. It is not kept and can not be shown again.',
      `In the shop's pages: <script async src="{gateway}/t/j/${customer.trackingKey}"></script>`,
    ].join('\n'),
  )
}

function changeOne(
  customers: Customers,
  verb: string,
  id: string,
  change: CustomerChange,
  key: string | undefined,
): Done {
  if (verb === 'set' && Object.keys(change).length === 0)
    return misused('Set what? --origin, --name or --config')
  if (verb === 'rotate' && key !== 'rest' && key !== 'tracking')
    return misused('Which key? --key rest or --key tracking')
  if (!customers.find(id)) return failed(`There is no customer ${id}`)
  if (verb === 'remove') {
    customers.remove(id)
    return told(`Removed ${id}`)
  }
  if (verb === 'set') return told(list([customers.change(id, change) as Customer]))
  const made = customers.rotate(id, key as 'rest' | 'tracking')
  return key === 'rest'
    ? told(`restKey  ${made}\n\nThe old one is worth nothing now. This one can not be shown again.`)
    : told(
        `trackingKey  ${made}\n\nPages with the old one send nothing until their tag is changed.`,
      )
}

function readChange({
  origin,
  name,
  config,
}: CustomerOptions): { readonly ok: true; readonly change: CustomerChange } | Fault {
  const origins = origin?.map((text) => readOrigin(text))
  const wrong = origins?.indexOf(undefined) ?? -1
  if (wrong >= 0)
    return misused(
      `${origin?.[wrong]} is no origin: expected a scheme and a host, such as https://shop.example`,
    )
  let given: unknown
  try {
    given = config === undefined ? undefined : JSON.parse(config)
  } catch {
    return misused('--config is not JSON')
  }
  const checked = given === undefined ? undefined : readPublicConfig(given)
  if (checked && !checked.ok)
    return misused(
      ['--config is invalid:', ...checked.issues.map((i) => `  ${i.path}: ${i.message}`)].join(
        '\n',
      ),
    )
  return {
    ok: true,
    change: {
      ...(name !== undefined && { name }),
      ...(origins && { origins: origins as string[] }),
      ...(checked && { config: checked.config }),
    },
  }
}

function list(customers: readonly Customer[]): string {
  if (customers.length === 0)
    return 'There are no customers yet: shoptrail customer add --origin https://shop.example'
  return customers
    .map(({ customerId, name, trackingKey, origins, configText }) =>
      [
        `${customerId}${name && ` (${name})`}`,
        `  trackingKey  ${trackingKey}`,
        `  origins      ${origins.join(' ') || 'none'}`,
        `  config       ${configText}`,
      ].join('\n'),
    )
    .join('\n\n')
}
