import type { AdoptSource } from '../contract/settings.ts'
import { UUID } from '../contract/uuid.ts'
import { guard } from './lib/guard.ts'
import type { Store } from './lib/storage.ts'
import { uuid4 } from './lib/uuid.ts'

/** Name in localStorage, and of the cookie that is used if localStorage fails. */
const NAME = 'track.did'
/** 400 days, the longest that browsers keep a cookie (https://developer.chrome.com/blog/cookie-max-age-expires). */
const COOKIE_SECONDS = 34_560_000

/** In front of a stored id that is no UUID: it was adopted, so it is not junk. No cookie's name begins with it. */
const MARK = '='

/** The device id: a random UUID for each browser and origin, or the id that another script gave the visitor. */
export type DeviceId = {
  /**
   * The stored id. If there is none, the adopted one, or else a new one: stored in localStorage, else in a first-party
   * cookie, else in memory.
   */
  get(): string
  /** Reads it again, since another tab may have reset it. If none is stored, it does not change. */
  read(): unknown
  /** Replaces it by a new one. From then on this page adopts no id. */
  reset(): string
}

/**
 * @param page Returns the document, for its cookie. In sandboxed frames `cookie` throws.
 * @param adopt Where another script has kept an id (docs/decisions.md, "Completed fields"). Default: nowhere.
 */
export function createDeviceId(
  store: Store,
  page: () => { cookie: string },
  adopt?: unknown,
): DeviceId {
  let did: string | undefined
  let isNew: unknown
  const findId = (texts: readonly string[]) =>
    texts.find((text) => UUID.test(text) || /^=/.test(text))
  const findAdopted = () => {
    const [pattern, name] = adopt as AdoptSource
    const [, id] = RegExp(pattern).exec(store.get(name as string) || page().cookie) as string[]
    // A tag can set `adoptDid` to any text, which finds no id. Then this throws.
    return findId([id as string, MARK + (id as string).trim()])
  }
  const make = () => {
    const inCookie = guard(() => findId(page().cookie.split(/track\.did=|;/)))
    did = (!isNew && (inCookie || guard(findAdopted))) || uuid4()
    // An existing cookie is always updated. Otherwise an id that was reset would come back from it.
    if (!(store.set(NAME, did) && !inCookie))
      guard(() => {
        page().cookie = `${NAME}=${did};path=/;max-age=${COOKIE_SECONDS};samesite=lax`
      })
    return did
  }
  const read = () => {
    did = findId([store.get(NAME), did] as string[])
    return did
  }
  return {
    get: () => (did || read() || make()).replace(MARK, ''),
    read,
    reset() {
      isNew = 1
      return make()
    },
  }
}
