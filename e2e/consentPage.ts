import type { BrowserContext, Page } from '@playwright/test'
import type { FaultProxy } from './faultProxy.ts'
import { expect } from './fixtures.ts'
import type { Shop } from './shopServer.ts'

/** What leaves a browser, and what its pages do with storage. */
export type Recorder = {
  /** Every use of a storage, in order: `localStorage.getItem track.c`. */
  readonly touched: string[]
  /** Every request of the context, except those for pages of the shop. */
  readonly requests: readonly { readonly url: string; readonly method: string }[]
}

/** Prefix of the console lines by which pages report a use of storage. A console line outlives its page. */
const LINE = 'storage: '

/**
 * Records from the next page on. Storage is replaced by proxies, so that a property, an enumeration and a method that
 * was taken from a prototype are seen too.
 */
export async function record(context: BrowserContext): Promise<Recorder> {
  const touched: string[] = []
  const requests: { url: string; method: string }[] = []
  context.on('console', (message) => {
    if (message.text().startsWith(LINE)) touched.push(message.text().slice(LINE.length))
  })
  context.on('request', (request) => {
    if (request.resourceType() !== 'document')
      requests.push({ url: request.url(), method: request.method() })
  })
  await context.addInitScript((prefix) => {
    // An empty page has no storage.
    if (!location.protocol.startsWith('http')) return
    const note = console.debug.bind(console)
    const touch = (...what: unknown[]) => note(prefix + what.join(' '))
    for (const name of ['localStorage', 'sessionStorage'] as const) {
      const real = window[name]
      const handler: ProxyHandler<Storage> = {}
      for (const trap of ['get', 'set', 'has', 'deleteProperty', 'ownKeys'] as const)
        Object.assign(handler, {
          [trap]: (target: Storage, property?: string, value?: unknown) => {
            const given = trap === 'set' ? [property, value] : trap === 'ownKeys' ? [] : [property]
            const method = trap === 'get' && target[property as keyof Storage]
            if (typeof method === 'function')
              return (...args: unknown[]) => {
                touch(`${name}.${property}`, args[0])
                return method.apply(target, args)
              }
            touch(`${name}.${trap}`, property ?? '')
            // Not the last argument of `get` and `set`: the proxy itself.
            return (Reflect[trap] as (...all: unknown[]) => unknown)(target, ...given)
          },
        })
      const proxy = new Proxy(real, handler)
      Object.defineProperty(window, name, { configurable: true, get: () => proxy })
    }
    const watch = (on: object | undefined, ...names: string[]) => {
      for (const name of names) {
        const property = on && Object.getOwnPropertyDescriptor(on, name)
        if (!property) continue
        const wrapped = { ...property }
        for (const part of ['get', 'set', 'value'] as const) {
          const own = property[part]
          if (typeof own === 'function')
            wrapped[part] = function (this: unknown, ...args: unknown[]) {
              touch(`${part} ${name}`, args[0])
              return Reflect.apply(own, this, args)
            }
        }
        Object.defineProperty(on, name, wrapped)
      }
    }
    watch(Document.prototype, 'cookie')
    watch(globalThis.IDBFactory?.prototype, 'open', 'databases', 'deleteDatabase')
    watch(globalThis.CacheStorage?.prototype, 'open', 'match', 'keys', 'has', 'delete')
    const { CookieStore, StorageManager } = globalThis as unknown as Record<
      string,
      { prototype: object } | undefined
    >
    watch(CookieStore?.prototype, 'get', 'getAll', 'set', 'delete')
    watch(StorageManager?.prototype, 'estimate', 'persist', 'persisted', 'getDirectory')
  }, LINE)
  return { touched, requests }
}

/** Fails unless the pages have only loaded the script's files, without a word about the visitor. */
export function expectNothingSent(
  { requests }: Recorder,
  wire: FaultProxy,
  shop: Shop,
  files: readonly string[],
): void {
  expect(wire.events).toEqual([])
  expect(new Set(wire.others.map(({ method, path }) => `${method} ${path}`))).toEqual(
    new Set(files.map((path) => `GET ${path}`)),
  )
  // A file that the script imports has the script as its referrer.
  const referrers = [undefined, `${shop.url}/`, shop.script()]
  for (const { query, body, headers } of wire.others) {
    expect(`${query}`).toBe('')
    expect(body).toBe('')
    expect(headers).not.toHaveProperty('cookie')
    expect(referrers).toContain(headers.referer)
  }
  const elsewhere = requests.filter(
    ({ url }) => !url.startsWith(wire.url) && url !== `${shop.url}/nothing`,
  )
  expect(elsewhere).toEqual([])
}

/** Fails unless the pages have at most asked for the remembered choice. */
export function expectNothingRead({ touched }: Recorder): void {
  expect(new Set(touched)).toEqual(new Set(['localStorage.getItem track.c']))
}

/** Everything that the browser keeps for the page's origin, by name. */
export const storedIn = (page: Page): Promise<{ readonly [name: string]: string }> =>
  page.evaluate(async () => {
    const all: { [name: string]: string } = {}
    for (const store of [localStorage, sessionStorage])
      for (let n = 0; n < store.length; n++) {
        const name = store.key(n) as string
        all[name] = store.getItem(name) as string
      }
    for (const cookie of document.cookie.split('; ').filter(Boolean)) all[cookie] = 'cookie'
    for (const name of await caches.keys()) all[name] = 'cache'
    for (const { name } of await indexedDB.databases()) all[`${name}`] = 'database'
    return all
  })

/** The notices of a page, in order, as text: kind, reason and status. For the page's head, behind the stub or the tag. */
export const LISTEN = `<script>notices=[];for(const kind of ['accepted','held','delivered','dropped'])
  track.on(kind,({id,reason,status})=>notices.push([kind,reason,status].filter(Boolean).join(' ')))
  track.on('consent',(state)=>notices.push('consent '+state))</script>`

export const noticesOf = (page: Page): Promise<string[]> => page.evaluate('notices')

/** The visitor's choice on the shop. */
export const choose = (page: Page, choice: 'granted' | 'denied'): Promise<void> =>
  page.evaluate((value) => track.consent(value), choice)
