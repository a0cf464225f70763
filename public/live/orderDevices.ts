/**
 * Finds the device of an order. An order has no device; it has an e-mail address. It belongs to the device that gave
 * this address last, before the order or up to an hour after it: a checkout often reports both at the same time.
 */
import type { LiveEvent } from '../operator/feed.ts'
import type { Kind } from '../operator/kinds.ts'
import { dropFirst } from './dropFirst.ts'
import { addressOf } from './kinds.ts'

const HOUR_MS = 3_600_000
/** Addresses that are remembered, with their device or with the time of their order. */
const MAX_ADDRESSES = 20_000

type Happened = Pick<LiveEvent, 'did' | 'at' | 'payload'> & { readonly kind: Kind }

export function createOrderDevices() {
  const devices = new Map<string, string>()
  /** When the orders came whose address no device has given yet, ms since 1970. */
  const waiting = new Map<string, number>()

  /**
   * Takes an event that may give an address, or an order.
   *
   * @returns The device of an order that is known since this event.
   */
  return (record: Happened): string | undefined => {
    const { kind, did, at } = record
    const isOrder = kind === 'saveOrder'
    if (!isOrder && (!did || (kind !== 'setEmail' && kind !== 'sendCustom'))) return undefined
    const address = addressOf(record)
    if (!address) return undefined
    if (isOrder) {
      const known = devices.get(address)
      if (known === undefined) remember(waiting, address, at)
      return known
    }
    remember(devices, address, String(did))
    const orderedAt = waiting.get(address)
    if (orderedAt === undefined) return undefined
    waiting.delete(address)
    return at - orderedAt <= HOUR_MS ? String(did) : undefined
  }
}

/** Deleted and set again, so that the Map's order of insertion is the order of the newest event. */
function remember<T>(map: Map<string, T>, address: string, value: T): void {
  map.delete(address)
  map.set(address, value)
  if (map.size > MAX_ADDRESSES) dropFirst(map)
}
