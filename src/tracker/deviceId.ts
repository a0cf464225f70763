import { UUID } from '../contract/uuid.ts'
import { guard } from './lib/guard.ts'
import type { Store } from './lib/storage.ts'
import { uuid4 } from './lib/uuid.ts'

/** Where the device id is kept: a name in localStorage, and of the cookie where that fails. */
const NAME = 'track.did'
/** 400 days: the longest that browsers keep a cookie. */
const COOKIE_SECONDS = 34_560_000

/** The device id: a UUID of version 4, one an origin. */
export type DeviceId = {
  /** Reads, else makes and keeps it: in storage, else in a first-party cookie, else in memory. */
  get(): string
  /** Reads it again, since another tab may have reset it. Where none is kept it stays. */
  read(): unknown
  /** A new one in its place. */
  reset(): string
}

/**
 * @param page The document, for the cookie. Its getter throws in sandboxed frames.
 */
export function createDeviceId(store: Store, page: { cookie: string }): DeviceId {
  let did: string | undefined
  // What is kept there and is no UUID is junk.
  const find = (kept: readonly unknown[]) =>
    kept.find((text) => UUID.test(`${text}`)) as string | undefined
  const make = (isReset?: boolean) => {
    const kept = guard(() => find(page.cookie.split(/track\.did=|;/)))
    did = (!isReset && kept) || uuid4()
    // A cookie that is there follows: an id that was reset would come back from it.
    if (!(store.set(NAME, did) && !kept))
      guard(() => {
        page.cookie = `${NAME}=${did};path=/;max-age=${COOKIE_SECONDS};samesite=lax`
      })
    return did
  }
  const read = () => {
    did = find([store.get(NAME), did])
    return did
  }
  return { get: () => did || read() || make(), read, reset: () => make(true) }
}
