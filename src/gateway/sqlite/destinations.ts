import { asObject } from '../collect/verdicts.ts'
import {
  changeDestination,
  completeDestination,
  showDestination,
} from '../forward/checkDestination.ts'
import type { Destination } from '../forward/destination.ts'
import {
  type Changed,
  type DestinationGiven,
  type DestinationStatus,
  type Forwarding,
  type LettersChanged,
  MAX_GROUPS,
  MAX_PAGE,
  MAX_PATCH_BYTES,
} from '../forward/forwarding.ts'
import type { Kind } from '../forward/kind.ts'
import { mergePatch } from '../forward/mergePatch.ts'
import { prepareEvent } from '../forward/prepareEvent.ts'
import type { ForwardLog } from './forwardLog.ts'
import type { ForwardStore, Position, Progress, StoredDestination } from './forwardStore.ts'

/** The functions of Forwarding, synchronous. */
export type Destinations = {
  readonly [Name in keyof Forwarding]: (
    ...args: Parameters<Forwarding[Name]>
  ) => Awaited<ReturnType<Forwarding[Name]>>
}

/** What the destinations use. */
export type DestinationsDependencies = {
  readonly store: ForwardStore
  /** Undefined before the first start of a gateway: then there are no events. */
  readonly log: ForwardLog | undefined
  readonly kinds: ReadonlyMap<string, Kind>
  /** Whether there is a customer with this id. */
  readonly isCustomer: (customer: string) => boolean
  /** The clock, ms since 1970. */
  readonly now: () => number
  /** How many events of a customer are after a position. Default: counts them in the log. */
  readonly countAfter?: (destination: Destination, seq: number) => number
}

const BEGINNING: Position = { seq: 0, event: null, receivedAt: null }

/** The destinations as operators see and change them. */
export function createDestinations(dependencies: DestinationsDependencies): Destinations {
  const { store, log, kinds, isCustomer, now } = dependencies
  const {
    countAfter = ({ customer }, seq) => log?.count(customer, seq, Number.MAX_SAFE_INTEGER) ?? 0,
  } = dependencies

  /** Undefined if it is another customer's. */
  function find(customer: string, id: string): StoredDestination | undefined {
    const found = store.find(id)
    return found?.customer === customer ? found : undefined
  }

  function firstPosition({ customer, from = 'end' }: DestinationGiven): Position {
    if (!log || from === 'beginning') return BEGINNING
    return from === 'end' ? log.end() : log.before(customer, from)
  }

  function describe(stored: StoredDestination): DestinationStatus[] {
    const progress = store.progress(stored.id)
    // It was removed meanwhile.
    if (!progress) return []
    const { seq, delivered, failed, lost } = progress
    const { revision: _, createdAt: __, ...destination } = stored
    const oldest = log?.firstAfter(stored.customer, seq)
    return [
      {
        destination: showDestination(destination, kinds),
        state: stateOf(stored, progress),
        lagEvents: countAfter(stored, seq),
        lagMs: oldest === undefined ? 0 : Math.max(0, now() - oldest),
        delivered,
        failed,
        lost,
        letters: store.letters.count(stored.id),
      },
    ]
  }

  function stateOf({ isPaused, customer }: Destination, { state }: Progress) {
    if (!isCustomer(customer))
      return {
        name: 'stopped',
        since: null,
        reason: 'Its customer was removed',
        nextAt: null,
      } as const
    return isPaused ? ({ name: 'paused', since: null, reason: null, nextAt: null } as const) : state
  }

  const saved = (destination: Destination): Changed => ({
    ok: true,
    destination: showDestination(destination, kinds),
  })

  function changeLetters(
    customer: string,
    id: string,
    change: () => LettersChanged,
  ): LettersChanged | undefined {
    return find(customer, id) && change()
  }

  return {
    add(given) {
      if (!isCustomer(given.customer))
        return { ok: false, faults: [`There is no customer ${given.customer}`] }
      const read = completeDestination(given, kinds)
      if (!read.ok) return read
      const fault = store.add(read.destination, firstPosition(given), now())
      return fault === undefined ? saved(read.destination) : { ok: false, faults: [fault] }
    },
    list: (customer) =>
      store
        .destinations()
        .filter((stored) => customer === undefined || stored.customer === customer)
        .flatMap(describe),
    change(customer, id, change) {
      const before = find(customer, id)
      if (!before) return undefined
      const { revision: _, createdAt: __, ...destination } = before
      const read = changeDestination(destination, change, kinds)
      if (!read.ok) return read
      store.change(read.destination)
      return saved(read.destination)
    },
    remove: (customer, id) => find(customer, id) !== undefined && store.remove(id),
    letters(customer, id, { after = 0, max = MAX_PAGE, ...filter } = {}) {
      const destination = find(customer, id)
      if (!destination) return undefined
      const { letters } = store
      const page = letters.page(id, filter, after, Math.min(max, MAX_PAGE))
      const last = page.length < Math.min(max, MAX_PAGE) ? undefined : page.at(-1)?.seq
      return {
        letters: page.flatMap((letter) => {
          const record = log?.find(customer, letter.seq, letter.eventId)
          if (!record) return []
          // The patch may have made the payload invalid. Then the stored one is shown.
          const mended = prepareEvent(record, destination, letter.patch)
          const prepared = mended.ok ? mended : prepareEvent(record, destination)
          if (!prepared.ok) return []
          const fault = mended.ok ? null : mended.reason
          return [{ ...letter, fault, payload: prepared.event.payload }]
        }),
        ...(last !== undefined && { next: last }),
        count: letters.countOf(id, filter),
        groups: letters.groups(id, MAX_GROUPS),
      }
    },
    mend: (customer, id, patch, filter = {}) =>
      changeLetters(customer, id, () => {
        const fault = findPatchFault(patch)
        if (fault) return { ok: false, fault }
        const json = patch && JSON.stringify(patch)
        return { ok: true, count: store.letters.mend(id, filter, json) }
      }),
    replay: (customer, id, filter = {}) =>
      changeLetters(customer, id, () => ({ ok: true, count: store.letters.replay(id, filter) })),
    discard: (customer, id, filter = {}) =>
      changeLetters(customer, id, () => ({ ok: true, count: store.letters.discard(id, filter) })),
  }
}

function findPatchFault(patch: unknown): string | undefined {
  if (patch === null) return undefined
  const given = asObject(patch)
  if (!given) return 'Expected a JSON merge patch: an object with the fields to change'
  try {
    mergePatch({}, given)
    return Buffer.byteLength(JSON.stringify(given)) > MAX_PATCH_BYTES
      ? `Expected a patch of at most ${MAX_PATCH_BYTES} bytes`
      : undefined
  } catch {
    // Also the lists in it may be nested more deeply than the stack.
    return 'Expected a patch that is not nested more deeply than a payload'
  }
}
