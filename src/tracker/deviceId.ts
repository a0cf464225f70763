import { UUID } from '../contract/uuid.ts'
import { guard } from './lib/guard.ts'
import type { Store } from './lib/storage.ts'
import { uuid4 } from './lib/uuid.ts'

/** Name in localStorage, and of the cookie that is used if localStorage fails. */
const NAME = 'track.did'
/** 400 days, the longest that browsers keep a cookie (https://developer.chrome.com/blog/cookie-max-age-expires). */
const COOKIE_SECONDS = 34_560_000

/** The device id: a random UUID for each browser and origin. */
export type DeviceId = {
  /** The stored id, or a new one: stored in localStorage, else in a first-party cookie, else in memory. */
  get(): string
  /** Reads it again, since another tab may have reset it. If none is stored, it does not change. */
  read(): unknown
  /** Replaces it by a new one. */
  reset(): string
}

/** @param page The document, for its cookie. In sandboxed frames `cookie` throws. */
export function createDeviceId(store: Store, page: { cookie: string }): DeviceId {
  let did: string | undefined
  const findId = (texts: readonly unknown[]) =>
    texts.find((text) => UUID.test(`${text}`)) as string | undefined
  const make = (isReset?: boolean) => {
    const inCookie = guard(() => findId(page.cookie.split(/track\.did=|;/)))
    did = (!isReset && inCookie) || uuid4()
    // An existing cookie is always updated. Otherwise an id that was reset would come back from it.
    if (!(store.set(NAME, did) && !inCookie))
      guard(() => {
        page.cookie = `${NAME}=${did};path=/;max-age=${COOKIE_SECONDS};samesite=lax`
      })
    return did
  }
  const read = () => {
    did = findId([store.get(NAME), did])
    return did
  }
  return { get: () => did || read() || make(), read, reset: () => make(true) }
}
