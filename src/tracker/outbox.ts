import { UUID } from '../contract/uuid.ts'
import type { Store } from './lib/storage.ts'

/** Storage names begin so; the entry's name follows. */
const PREFIX = 'track.e.'
/**
 * The most the outbox keeps in storage, characters of names and values: 512 KiB where a character is
 * two bytes, a tenth of what browsers give an origin, so that the shop's own data is not squeezed out.
 */
const MAX_STORED_CHARACTERS = 262_144
/** What an event costs there beside its payload, at most: its id, the key twice, the moment. */
const ENTRY_CHARACTERS = 110
/** The most one page keeps, events: what storage does not take lives in its memory. */
const MAX_OWN_EVENTS = 5000

/** One event on its way to one tracking key. */
export type Entry = {
  /** Its name in the outbox: the event's id, and for a second key on the page also that key. */
  readonly name: string
  /** When it happened, ms since 1970 by the browser's clock. */
  readonly at: number
  readonly key: string
  /** The payload as JSON. */
  readonly body: string
}

/** The event's id in an outbox name. */
export const idOf = (name: string): string => name.slice(0, 36)

/**
 * What was accepted and not yet acknowledged. One storage name an event, removed by that name: two
 * tabs can neither overwrite each other's events nor remove the wrong one. What this page accepted is
 * held in memory as well, so that it outlives a full, missing or cleared storage as long as the page.
 */
export type Outbox = {
  /** Keeps an event, in storage if it can, else in memory. `false`: both are full. */
  add(entry: Entry): boolean
  remove(name: string): void
  /** What was accepted on this page, oldest first. */
  own(): Entry[]
  /**
   * Everything, what other pages accepted too. Junk found in storage is removed.
   *
   * @param calls Takes out of storage what a page's stub kept of its calls when it was left. Default:
   * they stay there.
   */
  all(calls?: string[]): Entry[]
}

export function createOutbox(store: Store): Outbox {
  const own = new Map<string, Entry>()
  /** Characters in storage, as far as this page knows. */
  let stored = 0

  const remove = (name: string) => {
    own.delete(name)
    store.remove(PREFIX + name)
  }

  return {
    add(entry) {
      const { name, at, key, body } = entry
      if (own.size >= MAX_OWN_EVENTS) return false
      own.set(name, entry)
      const size = body.length + ENTRY_CHARACTERS
      if (stored + size < MAX_STORED_CHARACTERS && store.set(PREFIX + name, `${at} ${key} ${body}`))
        stored += size
      return true
    },
    remove,
    own: () => [...own.values()],
    all(calls) {
      const all = new Map(own)
      stored = 0
      for (const storedName of store.names())
        if (storedName.startsWith(PREFIX)) {
          const name = storedName.slice(PREFIX.length)
          const value = store.get(storedName) ?? ''
          const [, at, key, body] = /^(\d+) (\S+) (\{.*\})$/s.exec(value) ?? []
          stored += storedName.length + value.length
          if (at && UUID.test(idOf(name)))
            all.set(name, own.get(name) ?? ({ name, at: +at, key, body } as Entry))
          // What begins with a bracket is a call that a stub kept, the rest is junk.
          else if (value[0] !== '[' || calls?.push(value)) remove(name)
        }
      return [...all.values()]
    },
  }
}
