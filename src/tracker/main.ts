import { GLOBAL } from '../contract/settings.ts'
import { type Config, readConfig } from './config.ts'
import { createDebug } from './debug.ts'
import { createDeviceId } from './deviceId.ts'
import { createIsDuplicate, type Reports } from './duplicates.ts'
import { takeEarlyCalls } from './earlyCalls.ts'
import { createFlush } from './flush.ts'
import type { TrackApi } from './global.d.ts'
import { createHelpers } from './helpers.ts'
import { guard } from './lib/guard.ts'
import { listen } from './lib/listen.ts'
import { readSwitch } from './lib/readSwitch.ts'
import { createStore } from './lib/storage.ts'
import { createTabLock, type Locks } from './lib/tabLock.ts'
import { uuid7 } from './lib/uuid.ts'
import { whenShown } from './lib/whenShown.ts'
import { createNotices } from './notices.ts'
import { createOutbox } from './outbox.ts'
import { createParts, type Parts } from './parts.ts'
import { createTrack } from './track.ts'
import { createSend } from './transport.ts'

/** Adds another key to the copy of the script that runs. */
type Join = (config: Config, parts: Parts) => void

declare global {
  interface Performance {
    /**
     * In `performance`, because elements with this name or id would shadow a property of `document` or `window`, and the
     * page may overwrite the helpers.
     */
    shoptrail?: Join
  }
}
/** A global variable of the page, or the helpers. */
type Global = TrackApi & { readonly q?: unknown }
declare const window: Window & { [name: string]: Global }
/** As the code of the page resolves this name. */
declare const track: unknown

function start(config: Config, parts: Parts) {
  let name = config.global ?? GLOBAL
  let stub = window[name]
  if (
    // A `const` or `class` of a page's script is not a property of window, and shadows one.
    (!config.global && guard(() => track) !== stub) ||
    // An element with this id is not an own property of window. The stub is an object with the property `q`. A function
    // of the page may have such a property too.
    (stub &&
      // biome-ignore lint/suspicious/noPrototypeBuiltins: browsers of 2020 have no Object.hasOwn.
      (window as Window).hasOwnProperty(name) &&
      !(stub.q && typeof stub === 'object'))
  ) {
    name = 'shoptrail'
    stub = window[name]
  }
  const store = createStore(() => localStorage)
  // People who work at the shop exclude their browser with `?track_ignore=1`.
  const isIgnored = readSwitch('track.ignore', store)
  // Without a key, `track` makes no events and nothing is sent.
  const configs = new Map<string, Config>()
  if (!isIgnored) configs.set(config.key, config)
  const notices = createNotices()
  const deviceId = createDeviceId(store, () => document, config.adoptDid)
  const reports: Reports = new Map()

  const outbox = createOutbox(store)
  // Read only when it is needed, because the first access takes time.
  const locks: Locks = { request: (...all) => (navigator.locks as Locks).request(...all) }
  const withTabLock = createTabLock(locks, store)
  const flush = createFlush(outbox, createSend(fetch), configs, notices, withTabLock)

  const isDuplicate = createIsDuplicate(reports)
  const add = createTrack(configs, deviceId, outbox, flush, notices, isDuplicate)
  const debug = createDebug(
    config.base,
    createStore(() => sessionStorage),
  )
  const helpers = createHelpers(add, deviceId, outbox, flush, notices, debug)
  const startParts = createParts(add, configs, notices, new Map(), reports, uuid7)

  let replay: ReturnType<typeof takeEarlyCalls>
  listen(window, 'storage', deviceId.read)
  whenShown(() => {
    const stored: string[] = []
    outbox.all(stored)
    replay = takeEarlyCalls(stored, stub, helpers)
    replay()
    flush.resume()
    listen(window, 'pagehide', flush.leave)
    listen(document, 'visibilitychange', () => (document.hidden ? flush.leave() : flush.fresh()))
    listen(window, 'online pageshow', (event) => {
      if (!((event as PageTransitionEvent).persisted ?? true)) return
      // A page in the back/forward cache gets no storage events.
      deviceId.read()
      flush.resume()
    })
    if (!isIgnored) startParts(parts, config)
  })
  performance.shoptrail = (joining, more) => {
    if (isIgnored || configs.has(joining.key)) return
    configs.set(joining.key, joining)
    whenShown(() => {
      replay((other) => other === joining)
      startParts(more, joining)
      flush.resume()
    })
  }
  window[name] = helpers
}

/**
 * Starts the script, or adds its key to the copy that already runs on this page. The build writes the call, with a set
 * of parts.
 *
 * @param served The key's settings, as the gateway wrote them.
 * @param parts The parts of this script, in the order in which they start.
 */
export function main(served: Config, parts: Parts): void {
  try {
    const startOrJoin = performance.shoptrail ?? start
    startOrJoin(readConfig(served, document), parts)
  } catch {
    // The script can not start on this page. That must not cause an error.
  }
}
