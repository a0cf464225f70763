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

/** How a copy of the script hands its key to the copy that runs. */
type Join = (config: Config, parts: Parts) => void

declare global {
  interface Performance {
    /**
     * Not under the helpers' name, which the page may take for itself at any time, and not in the document or the
     * window, where an element by that name hides what we put there.
     */
    shoptrail?: Join
  }
}
/** What the page has at a name, or our helpers. */
type Global = TrackApi & { readonly q?: unknown }
declare const window: Window & { [name: string]: Global }
/** What the page's own code means by that name. */
declare const track: unknown

function start(config: Config, parts: Parts) {
  let name = config.global ?? GLOBAL
  let stub = window[name]
  if (
    // A `const` or `class` of the page's scripts is no property of the window, and hides one.
    (!config.global && guard(() => track) !== stub) ||
    // An element by its id is no property of the window's own. Our stub is an object with a queue; a function
    // of the page's may have one too.
    (stub &&
      // biome-ignore lint/suspicious/noPrototypeBuiltins: browsers of 2020 have no Object.hasOwn.
      (window as Window).hasOwnProperty(name) &&
      !(stub.q && typeof stub === 'object'))
  ) {
    name = 'shoptrail'
    stub = window[name]
  }
  const store = createStore(() => localStorage)
  // Visits of the people who work at the shop, switched off by `?track_ignore=1` for this browser.
  const isIgnored = readSwitch('track.ignore', store)
  // Without a key nothing becomes an event, and nothing is sent.
  const configs = new Map<string, Config>()
  if (!isIgnored) configs.set(config.key, config)
  const notices = createNotices()
  const deviceId = createDeviceId(store, document)
  const reports: Reports = new Map()

  const outbox = createOutbox(store)
  // Asked for only when a turn is: the page's first sight of it takes time.
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
    const kept: string[] = []
    outbox.all(kept)
    replay = takeEarlyCalls(kept, stub, helpers)
    replay()
    flush.resume()
    listen(window, 'pagehide', flush.leave)
    listen(document, 'visibilitychange', () => (document.hidden ? flush.leave() : flush.fresh()))
    listen(window, 'online pageshow', (event) => {
      if (!((event as PageTransitionEvent).persisted ?? true)) return
      // A page in the back/forward cache hears of no other tab's storage.
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
 * Called once by the script's last line, which the build writes for each set of parts.
 *
 * @param served The key's configuration, as the gateway wrote it.
 * @param parts Those that the key switches on, in the order in which they start.
 */
export function main(served: Config, parts: Parts): void {
  try {
    const startOrJoin = performance.shoptrail ?? start
    startOrJoin(readConfig(served, document), parts)
  } catch {
    // A page in which the script can not start goes on without it.
  }
}
