import type { DropReason } from '../contract/delivery.ts'
import { UUID } from '../contract/uuid.ts'
import type { Store } from './lib/storage.ts'
import type { Notice } from './notices.ts'
import { PROBLEMS } from './problems.ts'

/** Storage names are this prefix and the entry's name. */
const PREFIX = 'track.e.'
/**
 * The most that the outbox stores, characters of names and values: a tenth of what browsers give an origin, so that
 * there is room for the shop's own data.
 */
const MAX_STORED_CHARACTERS = 262_144
/** The most characters that an event needs in storage besides its payload: its id, the key twice, the time. */
const ENTRY_CHARACTERS = 110
/** The most events that one page keeps. Those that do not fit into storage are in memory. */
const MAX_OWN_EVENTS = 5000

/** An event that is to be delivered to a tracking key. */
export type Entry = {
  /** Its name in the outbox: the event's id, for a second key on the page followed by that key. */
  readonly name: string
  /** When it happened, ms since 1970 by the browser's clock. */
  readonly at: number
  readonly key: string
  /** The payload as JSON. */
  readonly body: string
  /** For notices: the helper, and what has called it. Undefined for an event of another page. */
  readonly about?: Pick<Notice, 'operation' | 'from' | 'where'>
}

/** The event's id, from the entry's name. */
export const idOf = (name: string): string => name.slice(0, 36)

/**
 * Events that were accepted and not yet acknowledged. Each has a storage name of its own and is removed by that name,
 * so two tabs can not overwrite each other's events or remove the wrong one. Events of this page are in memory too,
 * in case storage is full, missing or cleared.
 */
export type Outbox = {
  /**
   * Adds an event. Returns why it was not added, `outbox_full` if there is no room. Replaced while events are not
   * accepted (tracker.ts), and by the consent part, which holds them in memory.
   */
  add(entry: Entry): DropReason | undefined
  remove(name: string): void
  /** The events of this page, oldest first. */
  own(): Entry[]
  /**
   * The events of all pages. Removes invalid values from storage.
   *
   * @param calls Receives the calls that stubs of earlier pages have stored, and removes them from storage. Default:
   * they stay stored.
   * @param isReset Removes what is counted for reports of problems too.
   */
  all(calls?: string[], isReset?: boolean): Entry[]
}

export function createOutbox(store: Store): Outbox {
  const own = new Map<string, Entry>()
  /** Characters in storage, when last counted, and those that this page has added. */
  let stored = 0

  const remove = (name: string) => {
    own.delete(name)
    store.remove(PREFIX + name)
  }

  return {
    add(entry) {
      const { name, at, key, body } = entry
      if (own.size >= MAX_OWN_EVENTS) return 'outbox_full'
      own.set(name, entry)
      const size = body.length + ENTRY_CHARACTERS
      if (stored + size < MAX_STORED_CHARACTERS && store.set(PREFIX + name, `${at} ${key} ${body}`))
        stored += size
      return
    },
    remove,
    own: () => [...own.values()],
    all(calls, isReset) {
      const all = new Map(own)
      stored = 0
      for (const storedName of store.names())
        if (isReset && storedName.startsWith(PROBLEMS)) store.remove(storedName)
        else if (storedName.startsWith(PREFIX)) {
          const name = storedName.slice(PREFIX.length)
          const value = store.get(storedName) ?? ''
          const [, at, key, body] = /^(\d+) (\S+) (\{.*\})$/s.exec(value) ?? []
          stored += storedName.length + value.length
          if (at && UUID.test(idOf(name)))
            all.set(name, own.get(name) ?? ({ name, at: +at, key, body } as Entry))
          // A value that begins with a bracket is a call.
          else if (value[0] !== '[' || calls?.push(value)) remove(name)
        }
      return [...all.values()]
    },
  }
}
