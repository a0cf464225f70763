import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { findMismatch } from './dataCommand.ts'
import type { Destination, KindName } from './forward/destination.ts'
import type { Changed, DestinationGiven, LettersChanged } from './forward/forwarding.ts'
import { KINDS } from './forward/kinds.ts'
import {
  count,
  describeDestinations,
  describeFault,
  describeLetters,
  NO_LETTERS,
} from './forwardCommand/describe.ts'
import {
  type Env,
  type ForwardOptions,
  filterText,
  readChange,
  readFilter,
  readFrom,
  readPatch,
  readPosition,
  tellSecret,
} from './forwardCommand/readOptions.ts'
import { type Done, done, type Fault, failed, misused } from './lib/command.ts'
import type { Settings } from './settings.ts'
import { type CustomerIds, openCustomerIds } from './sqlite/customerIds.ts'
import { prepareDataFolder } from './sqlite/dataFolder.ts'
import { createDestinations, type Destinations } from './sqlite/destinations.ts'
import { openForwardLog } from './sqlite/forwardLog.ts'
import { openForwardStore } from './sqlite/forwardStore.ts'

const CHANGES = ['set', 'name', 'operation', 'leave-out', 'cookieless', 'bots']
const FILTER = ['operation', 'reason', 'letter']

/** The verbs of `forward`, each with its options. */
export const FORWARD_VERBS: ReadonlyMap<string, readonly string[]> = new Map([
  ['add', [...CHANGES, 'kind', 'from']],
  ['list', ['json']],
  ['set', CHANGES],
  ['pause', []],
  ['resume', []],
  ['remove', ['yes']],
  ['letters', [...FILTER, 'after', 'json']],
  ['mend', [...FILTER, 'patch']],
  ['replay', FILTER],
  ['discard', [...FILTER, 'yes']],
])

/** The lines of these commands in the help. */
export const FORWARD_COMMANDS_HELP = `\
  shoptrail forward add ID --kind KIND …      send the events of a customer on to a destination
  shoptrail forward list [ID]                 list the destinations, their lag and what they do
  shoptrail forward set DEST …                change a destination
  shoptrail forward pause | resume DEST       stop sending, and continue there
  shoptrail forward remove DEST --yes         remove a destination with its position and its dead letters
  shoptrail forward letters DEST              list the events that it has finally refused
  shoptrail forward mend DEST --patch JSON    change their payloads, as it gets them
  shoptrail forward replay DEST               send them again
  shoptrail forward discard DEST --yes        delete them; they are not sent`

/** The lines of their options in the help. */
export const FORWARD_OPTIONS_HELP = `\
  --kind KIND       what receives the events: ${[...KINDS.keys()].join(', ')} (docs/forwarding.md)
  --set NAME=VALUE  a setting of the destination, such as --set url=https://shop.example/hook. May be
                    repeated; "null" removes it. Secrets are read from the environment: FORWARD_REST_KEY for
                    restKey, or all of them from FORWARD_SECRETS, a JSON object
  --operation NAME  only events of this operation. May be repeated; "all" (default) is every one. Of
                    letters, mend, replay and discard: only letters of this operation
  --leave-out FIELD a field of the payload that it never gets, such as remote_addr. May be repeated; "none"
  --cookieless on   whether it also gets events without the visitor's consent. Default off
  --bots on         whether it also gets events of bots. Default off
  --from TIME       where it begins: "end" (default), "beginning" of the log, or 2026-11-29T08:00Z
  --reason TEXT     only letters with this whole reason
  --letter N        only this letter
  --after N         letters after this one
  --patch JSON      JSON merge patch of the payload: '{"product_id":42,"source":null}'. "none" removes it`

/**
 * `forward add | list | set | …`. A running gateway with the same data sees the change within a second.
 *
 * @param words The words after `forward`. The first is one of FORWARD_VERBS.
 * @param env Secrets of destinations.
 * @throws Error if the data can not be opened.
 */
export function runForward(
  words: readonly string[],
  options: ForwardOptions,
  settings: Settings,
  env: Env,
): Done {
  const [verb = '', id, ...more] = words
  if (more.length > 0) return misused(`forward ${verb} takes no ${more[0]}`)
  if (verb !== 'list' && !id)
    return misused(
      verb === 'add'
        ? 'Expected the id of a customer: forward add ID --kind KIND'
        : `Expected the id of a destination: forward ${verb} DEST`,
    )
  const folder = resolve(settings.dataDir)
  prepareDataFolder(folder)
  const mismatch = findMismatch(folder)
  if (mismatch) return failed(mismatch)
  const [forwardFile, eventsFile, customersFile] = ['forward.db', 'events.db', 'customers.db'].map(
    (name) => join(folder, name),
  ) as [string, string, string]
  // Only `add` creates the file, so that a wrong DATA_DIR stays empty.
  const isThere = existsSync(customersFile) && (verb === 'add' || existsSync(forwardFile))
  if (!isThere)
    return verb === 'list'
      ? done(...(options.json ? ['[]'] : none(folder)))
      : failed(unknown(verb, id, folder))
  const customers = openCustomerIds(customersFile)
  try {
    if (verb === 'add' && !customers.has(id as string)) return failed(unknown(verb, id, folder))
    const log = existsSync(eventsFile) ? openForwardLog(eventsFile) : undefined
    const store = openForwardStore(forwardFile)
    try {
      const destinations = createDestinations({
        ...{ store, log, kinds: KINDS, now: Date.now },
        isCustomer: customers.has,
      })
      if (verb === 'add') return add(destinations, id as string, options, env)
      if (verb === 'list') return list(destinations, id, options, folder, customers)
      const destination = store.find(id as string)
      if (!destination) return failed(unknown(verb, id, folder))
      return changeOne(verb, destinations, destination, options, env)
    } finally {
      store.close()
      log?.close()
    }
  } finally {
    customers.close()
  }
}

const none = (folder: string): string[] => [
  `There are no destinations in ${folder} yet: npx shoptrail forward add CUSTOMER --kind webhook --set url=https://shop.example/hook`,
]

const unknown = (verb: string, id: string | undefined, folder: string): string =>
  verb === 'add'
    ? `There is no customer ${id} in ${folder}`
    : `There is no destination ${id} in ${folder}. List them: npx shoptrail forward list`

function add(
  destinations: Destinations,
  customer: string,
  options: ForwardOptions,
  env: Env,
): Done {
  const { kind } = options
  if (!kind) return misused(`Expected --kind as one of ${[...KINDS.keys()].join(', ')}`)
  const change = readChange(options, kind, env)
  if (!change.ok) return change
  const from = readFrom(options.from)
  if (!from.ok) return from
  const given: DestinationGiven = {
    ...change.value,
    settings: change.value.settings ?? {},
    customer,
    kind: kind as KindName,
    ...(from.value !== undefined && { from: from.value }),
  }
  const added = withTexts(given, (typed) => destinations.add(typed))
  if (!added.ok) return refuse(added.faults, kind)
  return done(
    ...describeDestinations(
      destinations
        .list(customer)
        .filter(({ destination }) => destination.id === added.destination.id),
    ),
    '',
    'A running gateway begins to send within a second. See how far it is: npx shoptrail forward list',
  )
}

function list(
  destinations: Destinations,
  customer: string | undefined,
  { json }: ForwardOptions,
  folder: string,
  customers: CustomerIds,
): Done {
  const found = destinations.list(customer)
  if (customer !== undefined && found.length === 0 && !customers.has(customer))
    return failed(unknown('add', customer, folder))
  if (json) return done(JSON.stringify(found))
  return done(...(found.length === 0 ? none(folder) : describeDestinations(found)))
}

function changeOne(
  verb: string,
  destinations: Destinations,
  { id, customer, kind }: Destination,
  options: ForwardOptions,
  env: Env,
): Done {
  if (verb === 'remove') {
    if (!options.yes)
      return misused(
        `This removes ${id} with its position in the log and its dead letters. What was sent stays where it is. To confirm: npx shoptrail forward remove ${id} --yes`,
      )
    destinations.remove(customer, id)
    return done(`Removed ${id}`)
  }
  if (verb === 'set') {
    const change = readChange(options, kind, env)
    if (!change.ok) return change
    if (Object.keys(change.value).length === 0)
      return misused(
        `Expected one of ${CHANGES.map((option) => `--${option}`).join(', ')}, or a secret in the environment`,
      )
    return changed(
      withTexts(change.value, (typed) => destinations.change(customer, id, typed)),
      destinations,
      kind,
    )
  }
  if (verb === 'pause' || verb === 'resume') {
    const isPaused = verb === 'pause'
    return changed(destinations.change(customer, id, { isPaused }), destinations, kind)
  }
  const filter = readFilter(options)
  if (!filter.ok) return filter
  if (verb === 'letters') {
    const after = readPosition('after', options.after)
    if (!after.ok) return after
    const page = destinations.letters(customer, id, { ...filter.value, after: after.value })
    if (!page) return failed(`${id} was removed`)
    return done(...(options.json ? [JSON.stringify(page)] : describeLetters(page, id)))
  }
  if (verb === 'mend') {
    const patch = readPatch(options.patch)
    if (!patch.ok) return patch
    return lettersDone(destinations.mend(customer, id, patch.value, filter.value), (n) =>
      patch.value
        ? [
            `Mended ${n}. Next: npx shoptrail forward replay ${id}${filterText(filter.value)}`,
            ...describeFault(destinations.letters(customer, id, { ...filter.value, max: 1 })),
          ]
        : [`Removed the patch of ${n}`],
    )
  }
  if (verb === 'replay')
    return lettersDone(destinations.replay(customer, id, filter.value), (n) => [
      `${n} will be sent again. Those that are refused stay in the list`,
    ])
  if (!options.yes) {
    const letters = destinations.letters(customer, id, { ...filter.value, max: 1 })?.count ?? 0
    return misused(
      `This deletes ${count(letters, 'dead letter')} of ${id}, whose events it will never get. To confirm, add --yes.`,
    )
  }
  return lettersDone(destinations.discard(customer, id, filter.value), (n) => [`Discarded ${n}`])
}

function lettersDone(
  result: LettersChanged | undefined,
  say: (letters: string) => readonly string[],
): Done {
  if (!result) return failed('The destination was removed')
  if (!result.ok) return misused(result.fault)
  return done(...(result.count === 0 ? [NO_LETTERS] : say(count(result.count, 'dead letter'))))
}

function changed(result: Changed | undefined, destinations: Destinations, kind: string): Done {
  if (!result) return failed('The destination was removed')
  if (!result.ok) return refuse(result.faults, kind)
  const { id, customer } = result.destination
  return done(
    ...describeDestinations(
      destinations.list(customer).filter(({ destination }) => destination.id === id),
    ),
  )
}

/**
 * Values such as `12` may be numbers or texts. If the kind does not take the numbers, they are tried as texts.
 *
 * @returns The faults of the first try, if both fail.
 */
function withTexts<
  Given extends { readonly settings?: Readonly<Record<string, unknown>> | undefined },
>(given: Given, apply: (given: Given) => Changed | undefined): Changed {
  const gone: Changed = { ok: false, faults: ['The destination was removed'] }
  const first = apply(given) ?? gone
  const { settings = {} } = given
  if (first.ok || !Object.values(settings).some(isSimple)) return first
  const texts = Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [name, isSimple(value) ? `${value}` : value]),
  )
  const second = apply({ ...given, settings: texts }) ?? gone
  return second.ok ? second : first
}

const isSimple = (value: unknown): boolean =>
  typeof value === 'number' || typeof value === 'boolean'

/** All faults, with the way to give a secret that is missing. */
function refuse(faults: readonly string[], kind: string): Fault {
  const { secrets = [] } = KINDS.get(kind) ?? {}
  const missing = secrets.find((name) => faults.some((fault) => fault.startsWith(`${name}: `)))
  return misused(
    'The destination is invalid:',
    ...faults.map((fault) => `  ${fault}`),
    ...(missing === undefined ? [] : tellSecret(missing)),
  )
}
