import type { AdoptSource } from '../contract/settings.ts'
import { UUID } from '../contract/uuid.ts'
import type { Config } from './config.ts'
import { guard } from './lib/guard.ts'
import type { Store } from './lib/storage.ts'
import { uuid4 } from './lib/uuid.ts'

/** Name in localStorage, and of the cookie that is used if localStorage fails. */
export const DID_NAME = 'track.did'
/** 400 days, the longest that browsers keep a cookie (https://developer.chrome.com/blog/cookie-max-age-expires). */
export const COOKIE_SECONDS = 34_560_000
/** In front of a stored id that is no UUID: it was adopted, so it is not junk. No cookie's name begins with it. */
const MARK = '='

/** Whether a stored text is an id. */
export const isDid = (text: unknown): text is string =>
  UUID.test(text as string) || /^=\S/.test(text as string)

/** The device id: a random UUID for each browser and origin, or the id that another script gave the visitor. */
export type DeviceId = {
  /**
   * The stored id. If there is none, the adopted one, or else a new one: stored in localStorage, else in a first-party
   * cookie, else in memory.
   */
  get(): string
  /** Reads it again, since another tab may have reset it. If none is stored, it does not change. */
  read(): unknown
  /**
   * Replaces it by a new one. If there was one, this page adopts none later.
   *
   * @param seconds 0 deletes it instead, so that the next `get` makes a new one. Default: it is replaced.
   */
  reset(seconds?: 0): string
}

/**
 * @param page Returns the document, for its cookie; something without a cookie while cookies must not be used. In
 * sandboxed frames `cookie` throws.
 * @param adopt Where another script has kept an id (docs/decisions.md, "Adopted device ids"). Default: nowhere.
 */
export function createDeviceId(
  store: Store,
  page: () => { cookie: string },
  adopt?: Config['adoptDid'] | 0,
): DeviceId {
  let did: string | 0 | undefined
  const findAdopted = () => {
    const [, id] = RegExp((adopt as AdoptSource)[0]).exec(
      store.get((adopt as AdoptSource)[1] as string) || page().cookie,
    ) as string[]
    // A tag can set `adoptDid` to any text, which finds no id. Then this throws.
    return [id, MARK + (id as string).trim()].find(isDid)
  }
  const make = (isReset?: unknown, seconds: 0 | typeof COOKIE_SECONDS = COOKIE_SECONDS) => {
    const inCookie = guard(() =>
      page()
        .cookie.split(/track\.did=|;/)
        .find(isDid),
    )
    did = seconds && ((!isReset && (inCookie || guard(findAdopted))) || uuid4())
    // An existing cookie is always updated. Otherwise an id that was reset would come back from it.
    if (!((did ? store.set(DID_NAME, did) : store.remove(DID_NAME)) && !inCookie))
      guard(() => {
        page().cookie = `${DID_NAME}=${did};path=/;max-age=${seconds};samesite=lax`
      })
    return did as string
  }
  const read = () => {
    did = [store.get(DID_NAME), did].find(isDid)
    return did
  }
  return {
    get: () => (did || read() || make()).replace(MARK, ''),
    read,
    reset(seconds) {
      if (did || read()) adopt = 0
      return make(1, seconds)
    },
  }
}
