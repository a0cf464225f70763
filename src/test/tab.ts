import { build } from 'esbuild'
import { Window } from 'happy-dom'
import { entryOf } from '../build/partSets.mjs'
import type { Config } from '../tracker/config.ts'
import type { TrackApi, TrackNotice } from '../tracker/global.d.ts'
import { createMemoryStorage } from './storage.ts'

const TRACKER = new URL('../tracker', import.meta.url).pathname

/** Bundles the script with some parts. The text is a function of the configuration. */
export async function bundle(parts: readonly string[]): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: entryOf(parts), resolveDir: TRACKER },
    bundle: true,
    write: false,
    format: 'esm',
    define: { __version__: '"1.2.3"', __deviceCookie__: 'false' },
    logLevel: 'error',
  })
  return `(function (__config__) { 'use strict'\n${outputFiles[0]?.text}\n})`
}

/** A request of the script. */
export type Sent = {
  readonly url: string
  /** The payloads of its events. */
  readonly payloads: readonly { readonly [name: string]: unknown }[]
  readonly ids: readonly string[]
}

type Storages = {
  readonly local: Storage
  readonly session: Storage
}

/** A browser with one origin. Its tabs share localStorage and cookies, and get an event of each change in localStorage. */
export function createBrowser() {
  const local = createMemoryStorage()
  const cookies = new Map<string, string>()
  const tabs = new Set<Window>()
  /** Each access of a page to storage and cookies, as `local.setItem track.did`. */
  const accesses: string[] = []

  const watch = (
    name: string,
    storage: Storage,
    changed: (...all: [string, string | null]) => void,
  ) =>
    new Proxy(storage, {
      ownKeys(target) {
        accesses.push(`${name}.names`)
        return Reflect.ownKeys(target)
      },
      get(target, call) {
        const value = target[call as keyof Storage]
        if (typeof value !== 'function') return value
        return (...given: [string, string]) => {
          accesses.push(`${name}.${String(call)} ${given[0]}`)
          const before = target.getItem(given[0])
          const result = value.apply(target, given)
          const after = target.getItem(given[0])
          if (before !== after) changed(given[0], after)
          return result
        }
      },
    })

  /** Opens a page in a tab of its own. */
  function open(
    script: string,
    config: Partial<Config> = {},
    {
      url = 'https://shop.example/p/1?utm_source=mail',
      tag = {} as { readonly [name: string]: string },
      before = (_page: Window & { [name: string]: unknown }): void => {},
      status = 200,
      session = createMemoryStorage(),
    } = {},
  ) {
    const page = new Window({ url }) as Window & { [name: string]: unknown }
    tabs.add(page)
    const sent: Sent[] = []
    const storages: Storages = {
      local: watch('local', local, (key, newValue) => {
        for (const other of tabs)
          if (other !== page)
            setTimeout(() =>
              other.dispatchEvent(new other.StorageEvent('storage', { key, newValue } as never)),
            )
      }),
      session: watch('session', session, () => {}),
    }
    const define = (on: object, name: string, get: () => unknown, set?: (value: never) => void) =>
      Object.defineProperty(on, name, { get, ...(set && { set }), configurable: true })
    define(page, 'localStorage', () => storages.local)
    define(page, 'sessionStorage', () => storages.session)
    define(
      page.document,
      'cookie',
      () => {
        accesses.push('cookie')
        return [...cookies].map((pair) => pair.join('=')).join('; ')
      },
      (text: string) => {
        accesses.push(`cookie ${text}`)
        const [, name = '', value = ''] = /^(.*?)=(.*?)(;|$)/.exec(text) ?? []
        if (/max-age=0/.test(text)) cookies.delete(name)
        else cookies.set(name, value)
      },
    )
    const network = { status }
    define(page, 'fetch', () => async (address: string, { body }: { readonly body: string }) => {
      const query = new URL(address).searchParams
      const read = JSON.parse(body)
      const events: { id: string; payload: object }[] = read.events ?? [
        { id: query.get('id'), payload: read },
      ]
      if (events[0]?.payload)
        sent.push({
          url: address,
          payloads: events.map(({ payload }) => payload) as never,
          ids: events.map(({ id }) => id),
        })
      if (!network.status) throw new TypeError('offline')
      const results = events.map(({ id, payload }) => ({
        id,
        status: payload ? network.status : 404,
      }))
      return Response.json(read.events ? { results } : { id: events[0]?.id }, {
        status: network.status,
      })
    })
    // happy-dom's pages share one.
    const clock = { now: () => performance.now(), getEntriesByType: () => [{ name: url }] }
    define(page, 'performance', () => clock)
    before(page)
    const key = config.key ?? 'DEMOSHOP'
    const element = page.document.createElement('script')
    element.setAttribute('src', `https://gw.example/t/j/${key}`)
    Object.assign(element.dataset, tag)
    page.document.head.append(element)
    /** Runs the script, as the browser does with its tag. */
    const run = (code = script, more: Partial<Config> = config, on = element) => {
      define(page.document, 'currentScript', () => on)
      const settings = { batch: true, pageViews: 'off', ...more, key: more.key ?? 'DEMOSHOP' }
      new Function('page', `with (page) { return ${code} }`)(page)(settings)
    }
    run()
    const track = page.track as unknown as TrackApi
    const notices: (TrackNotice & { readonly kind: string })[] = []
    for (const kind of ['accepted', 'delivered', 'held', 'dropped'] as const)
      track.on(kind, (notice) => notices.push({ kind, ...notice }))
    const states: unknown[] = []
    track.on('consent', (state) => states.push(state))
    return {
      page,
      track,
      sent,
      notices,
      states,
      network,
      run,
      /** The payloads of all requests, in order. */
      payloads: () => sent.flatMap(({ payloads }) => payloads),
      /** Lets microtasks and due timers of all tabs run. */
      settle: () => new Promise((resolve) => setTimeout(resolve, 5)),
      close: () => tabs.delete(page),
    }
  }
  return { local, cookies, accesses, open }
}
