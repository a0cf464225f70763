import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { findMismatch } from './dataCommand.ts'
import type { Destination, KindName } from './forward/destination.ts'
import type { Changed, DestinationGiven, LettersChanged } from './forward/forwarding.ts'
import { KINDS } from './forward/kinds.ts'
import { type Calling, call, runNow } from './forwardCommand/calls.ts'
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
import { openCustomerIds } from './sqlite/customerIds.ts'
import { prepareDataFolder } from './sqlite/dataFolder.ts'
import { createDestinations } from './sqlite/destinations.ts'
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
  --operation NAME  only what this operation has stored. May be repeated; "events" (default) is every one
                    of events, "all" also those of orders and subscribers (docs/forwarding.md). Of
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
  const [verb = '', id] = words
  const fault = findForwardFault(words)
  if (fault) return fault
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
      const found = {
        isCustomer: id !== undefined && customers.has(id),
        destination: id === undefined ? undefined : store.find(id),
      }
      return runNow(forward(words, options, env, folder, found), destinations)
    } finally {
      store.close()
      log?.close()
    }
  } finally {
    customers.close()
  }
}

/** What the id of a command stands for. */
export type Named = {
  readonly isCustomer: boolean
  readonly destination: Pick<Destination, 'id' | 'customer' | 'kind'> | undefined
}

/** Why the words after `forward` are wrong. */
export function findForwardFault([verb = '', id, ...more]: readonly string[]): Fault | undefined {
  if (more.length > 0) return misused(`forward ${verb} takes no ${more[0]}`)
  if (verb === 'list' || id) return undefined
  return misused(
    verb === 'add'
      ? 'Expected the id of a customer: forward add ID --kind KIND'
      : `Expected the id of a destination: forward ${verb} DEST`,
  )
}

/**
 * `forward add | list | set | …`, wherever the destinations are.
 *
 * @param place Where they are, for messages: a folder, or the cluster.
 */
export function* forward(
  [verb = '', id]: readonly string[],
  options: ForwardOptions,
  env: Env,
  place: string,
  { isCustomer, destination }: Named,
): Calling<Done> {
  if (verb === 'add')
    return isCustomer ? yield* add(id as string, options, env) : failed(unknown(verb, id, place))
  if (verb === 'list') return yield* list(id, options, place, isCustomer)
  if (!destination) return failed(unknown(verb, id, place))
  return yield* changeOne(verb, destination, options, env)
}

const none = (folder: string): string[] => [
  `There are no destinations in ${folder} yet: npx shoptrail forward add CUSTOMER --kind webhook --set url=https://shop.example/hook`,
]

const unknown = (verb: string, id: string | undefined, folder: string): string =>
  verb === 'add'
    ? `There is no customer ${id} in ${folder}`
    : `There is no destination ${id} in ${folder}. List them: npx shoptrail forward list`

function* add(customer: string, options: ForwardOptions, env: Env): Calling<Done> {
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
  const added = yield* withTexts(given, (typed) => call('add', typed))
  if (!added.ok) return refuse(added.faults, kind)
  const { id } = added.destination
  const all = yield* call('list', customer)
  return done(
    ...describeDestinations(all.filter(({ destination }) => destination.id === id)),
    '',
    'A running gateway begins to send within a second. See how far it is: npx shoptrail forward list',
  )
}

function* list(
  customer: string | undefined,
  { json }: ForwardOptions,
  folder: string,
  isCustomer: boolean,
): Calling<Done> {
  const found = yield* call('list', customer)
  if (customer !== undefined && found.length === 0 && !isCustomer)
    return failed(unknown('add', customer, folder))
  if (json) return done(JSON.stringify(found))
  return done(...(found.length === 0 ? none(folder) : describeDestinations(found)))
}

function* changeOne(
  verb: string,
  { id, customer, kind }: Pick<Destination, 'id' | 'customer' | 'kind'>,
  options: ForwardOptions,
  env: Env,
): Calling<Done> {
  if (verb === 'remove') {
    if (!options.yes)
      return misused(
        `This removes ${id} with its position in the log and its dead letters. What was sent stays where it is. To confirm: npx shoptrail forward remove ${id} --yes`,
      )
    yield* call('remove', customer, id)
    return done(`Removed ${id}`)
  }
  if (verb === 'set') {
    const change = readChange(options, kind, env)
    if (!change.ok) return change
    if (Object.keys(change.value).length === 0)
      return misused(
        `Expected one of ${CHANGES.map((option) => `--${option}`).join(', ')}, or a secret in the environment`,
      )
    const result = yield* withTexts(change.value, (typed) => call('change', customer, id, typed))
    return yield* changed(result, kind)
  }
  if (verb === 'pause' || verb === 'resume') {
    const isPaused = verb === 'pause'
    return yield* changed(yield* call('change', customer, id, { isPaused }), kind)
  }
  const filter = readFilter(options)
  if (!filter.ok) return filter
  if (verb === 'letters') {
    const after = readPosition('after', options.after)
    if (!after.ok) return after
    const page = yield* call('letters', customer, id, { ...filter.value, after: after.value })
    if (!page) return failed(`${id} was removed`)
    return done(...(options.json ? [JSON.stringify(page)] : describeLetters(page, id)))
  }
  if (verb === 'mend') {
    const patch = readPatch(options.patch)
    if (!patch.ok) return patch
    const mended = yield* call('mend', customer, id, patch.value, filter.value)
    const first = yield* call('letters', customer, id, { ...filter.value, max: 1 })
    return lettersDone(mended, (n) =>
      patch.value
        ? [
            `Mended ${n}. Next: npx shoptrail forward replay ${id}${filterText(filter.value)}`,
            ...describeFault(first),
          ]
        : [`Removed the patch of ${n}`],
    )
  }
  if (verb === 'replay')
    return lettersDone(yield* call('replay', customer, id, filter.value), (n) => [
      `${n} will be sent again. Those that are refused stay in the list`,
    ])
  if (!options.yes) {
    const page = yield* call('letters', customer, id, { ...filter.value, max: 1 })
    const letters = page?.count ?? 0
    return misused(
      `This deletes ${count(letters, 'dead letter')} of ${id}, whose events it will never get. To confirm, add --yes.`,
    )
  }
  return lettersDone(yield* call('discard', customer, id, filter.value), (n) => [`Discarded ${n}`])
}

function lettersDone(
  result: LettersChanged | undefined,
  say: (letters: string) => readonly string[],
): Done {
  if (!result) return failed('The destination was removed')
  if (!result.ok) return misused(result.fault)
  return done(...(result.count === 0 ? [NO_LETTERS] : say(count(result.count, 'dead letter'))))
}

function* changed(result: Changed | undefined, kind: string): Calling<Done> {
  if (!result) return failed('The destination was removed')
  if (!result.ok) return refuse(result.faults, kind)
  const { id, customer } = result.destination
  const all = yield* call('list', customer)
  return done(...describeDestinations(all.filter(({ destination }) => destination.id === id)))
}

/**
 * Values such as `12` may be numbers or texts. If the kind does not take the numbers, they are tried as texts.
 *
 * @returns The faults of the first try, if both fail.
 */
function* withTexts<
  Given extends { readonly settings?: Readonly<Record<string, unknown>> | undefined },
>(given: Given, apply: (given: Given) => Calling<Changed | undefined>): Calling<Changed> {
  const gone: Changed = { ok: false, faults: ['The destination was removed'] }
  const first = (yield* apply(given)) ?? gone
  const { settings = {} } = given
  if (first.ok || !Object.values(settings).some(isSimple)) return first
  const texts = Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [name, isSimple(value) ? `${value}` : value]),
  )
  const second = (yield* apply({ ...given, settings: texts })) ?? gone
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
