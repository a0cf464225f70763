import type { Config } from './config.ts'
import { COOKIE_SECONDS, DID_NAME, isDid } from './deviceId.ts'
import { guard } from './lib/guard.ts'
import type { Store } from './lib/storage.ts'

/** A document, as far as its cookie is concerned. */
type Page = { cookie: string }

/**
 * Where the device id is kept, and how requests are made: of the script itself, or with the cookie of `cookieDomain` and
 * `firstParty` (docs/decisions.md, "Cookies of the device id").
 */
export type Keeping = readonly [store: Store, page: () => Page, post: typeof fetch]

/** Undefined if the key has neither setting. */
export type DeviceCookie = (config: Config, ...usual: Keeping) => Keeping | undefined

/**
 * Keeps the device id also in a cookie: with `cookieDomain` in one of the registrable domain, and with `firstParty` in
 * one that the gateway sets. A cookie of the domain counts for more than localStorage, so that all subdomains get the same
 * id.
 *
 * @param page Returns something without a cookie while cookies must not be used.
 */
export const deviceCookie: DeviceCookie = ({ cookieDomain, firstParty }, store, page, post) => {
  const isShared = cookieDomain === 'auto'
  if (!isShared && !firstParty) return
  /** The id of this page as text of the cookie; empty after it was deleted, undefined before it was needed. */
  let current: string | undefined
  /** The id that an answer has brought to this page. Once is enough, and later answers could bring an old id back. */
  let served: string | undefined
  /** The domain of the cookie. Empty if it is one of the host. */
  let domain = ''

  /** Candidates, the shortest first. Browsers refuse public suffixes. An address has no domain. */
  const findDomains = () => {
    const labels = location.hostname.split('.')
    return /\.\d+$/.test(location.hostname)
      ? []
      : labels
          .map((_, at) => labels.slice(at).join('.'))
          .slice(0, -1)
          .reverse()
  }
  /** The values of the cookie: several if one is of the host and one of the domain. Undefined if there is no access. */
  const values = () =>
    guard(() =>
      page()
        .cookie.split('; ')
        .filter((text) => text.startsWith(`${DID_NAME}=`))
        .map((text) => text.slice(DID_NAME.length + 1)),
    )
  const put = (text: string, seconds: number, of: string) =>
    guard(() => {
      // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is asynchronous, and browsers of 2020 lack it.
      document.cookie = `${DID_NAME}=${text};path=/;max-age=${seconds};samesite=lax${of && `;domain=${of}`}`
    })
  const erase = () => {
    for (const each of [...findDomains(), '']) put('', 0, each)
  }
  const write = (text: string) => {
    erase()
    domain =
      [...(isShared ? findDomains() : []), ''].find((each) => {
        put(text, COOKIE_SECONDS, each)
        return values()?.includes(text)
      }) ?? ''
  }
  const keep = (text: string, isStored: unknown) => {
    const known = values()
    if (!known) return
    const differs = known.some((value) => value !== text)
    // The first time on a page a shared cookie is written in any case, which renews it and finds its domain.
    if (differs || !(isStored || known[0]) || (isShared && current !== text)) write(text)
    current = text
  }
  /** An answer may bring back an id that was reset or deleted while the request was open. */
  const correct = () => {
    if (current === '') erase()
    else if (current) keep(current, true)
  }

  return [
    {
      ...store,
      get(name) {
        const stored = store.get(name)
        if (name !== DID_NAME) return stored
        const known = [stored, ...(values() ?? [])]
        const text = (isShared ? known.reverse() : known).find(isDid)
        if (text) {
          if (text !== stored) store.set(name, text)
          keep(text, true)
        }
        return text
      },
      set(name, text) {
        const isStored = store.set(name, text)
        if (name !== DID_NAME) return isStored
        keep(text, isStored)
        return isStored || values()?.includes(text)
      },
      remove(name) {
        store.remove(name)
        if (name !== DID_NAME || !values()) return
        current = ''
        erase()
      },
    },
    // For adopted ids. The cookie of the device id is not written there.
    () => ({ cookie: page().cookie }),
    async (url, init) => {
      const known = values()
      // Another subdomain may have another id by now, which must stay. Before consent there is no id.
      const asked = current
      if (
        !firstParty ||
        !asked ||
        asked === served ||
        !known ||
        known.some((value) => value !== asked)
      )
        return post(url, init)
      try {
        const answer = await post(domain ? `${url}&domain=${domain}` : url, {
          ...init,
          credentials: 'same-origin',
        })
        if (answer.ok) served = asked
        return answer
      } finally {
        correct()
      }
    },
  ]
}
