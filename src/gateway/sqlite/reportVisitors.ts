import type { Database } from 'better-sqlite3'
import type { Customer } from './reportNumbers.ts'

/** Bits of the table at first, and at most: 8 MiB. */
const MIN_BITS = 20
const MAX_BITS = 26
/** The table grows when it has more devices than this share of its bits. */
const FULL = 1 / 8

/** Which devices may have visited a campaign, by their short hashes. */
export type Visitors = {
  /** False: it has not. True: look it up. */
  has(hash: number): boolean
  add(hash: number): void
  /**
   * Adds the devices that another connection has added.
   *
   * @param build The file's. With another one than before it begins again.
   */
  load(build: Buffer, customers: Iterable<Customer>): void
}

/**
 * A table of bits in memory, since most devices have visited no campaign and a look-up of each in the file would take
 * more time than everything else. A bit is never cleared: the device is then looked up for nothing.
 */
export function createVisitors(database: Database): Visitors {
  const all = database.prepare<[], number>('SELECT seen FROM devices').pluck()
  const between = database
    .prepare<[number, number], number>('SELECT seen FROM devices WHERE device >= ? AND device < ?')
    .pluck()
  let bits = new Uint8Array(2 ** (MIN_BITS - 3))
  let count = 0
  let loaded: Buffer | undefined
  /** The number of each customer's next device when it was loaded. */
  const known = new Map<number, number>()

  function add(hash: number): void {
    const bit = hash & (bits.length * 8 - 1)
    bits[bit >>> 3] = (bits[bit >>> 3] as number) | (1 << (bit & 7))
    count++
  }

  function fill(): void {
    count = 0
    for (const hash of all.iterate()) add(hash)
  }

  function grow(): void {
    while (count > bits.length * 8 * FULL && bits.length * 8 < 2 ** MAX_BITS) {
      bits = new Uint8Array(bits.length * 2)
      fill()
    }
  }

  return {
    has(hash) {
      const bit = hash & (bits.length * 8 - 1)
      return ((bits[bit >>> 3] as number) & (1 << (bit & 7))) !== 0
    },
    add,
    load(build, customers) {
      const isSame = loaded?.equals(build)
      if (!isSame) {
        bits.fill(0)
        known.clear()
        fill()
      }
      for (const { customer, nextDevice } of customers) {
        const from = known.get(customer) ?? 0
        if (isSame && nextDevice > from)
          for (const hash of between.iterate(from, nextDevice)) add(hash)
        known.set(customer, nextDevice)
      }
      loaded = build
      grow()
    },
  }
}
