import type { DropReason } from '../contract/delivery.ts'
import { GLOBAL } from '../contract/settings.ts'
import { type Config, readConfig } from './config.ts'
import { createDebug, DEBUG } from './debug.ts'
import { deviceCookie } from './deviceCookie.ts'
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
/** Whether the build makes a script with deviceCookie.ts. A constant, so that the others contain nothing of it. */
declare const __deviceCookie__: boolean
/** As the code of the page resolves this name. */
declare const track: unknown

function start(config: Config, parts: Parts): Join {
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
  /** Whether storage and cookies may be used. The consent part opens them once it knows that they may. */
  let isOpen = !parts.consent
  const store = createStore(() => isOpen && localStorage)
  const session = createStore(() => isOpen && sessionStorage)
  const configs = new Map<string, Config>()
  const notices = createNotices()
  const page = () => (isOpen && document) as Document
  // The first script of a page decides.
  const keeping = __deviceCookie__ ? deviceCookie(config, store, page, fetch) : undefined
  const deviceId = createDeviceId(
    keeping ? keeping[0] : store,
    keeping ? keeping[1] : page,
    config.adoptDid,
  )
  const reports: Reports = new Map()
  const outbox = createOutbox(store)
  /** From now on no event is accepted, nothing is stored, and what earlier pages have stored is not sent. */
  const close = (reason: DropReason) => {
    isOpen = false
    outbox.add = () => reason
  }

  const withTabLock = createTabLock(() => navigator.locks as Locks, store)
  const flush = createFlush(
    outbox,
    createSend(keeping ? keeping[2] : fetch),
    configs,
    notices,
    withTabLock,
  )

  const isDuplicate = createIsDuplicate(reports)
  const add = createTrack(configs, deviceId, outbox, flush, notices, isDuplicate)
  const debug = createDebug(config.base, session, notices, (parts) => startParts(parts, config))
  const helpers = createHelpers(add, deviceId, outbox, flush, notices, debug)
  const startParts = createParts(
    add,
    configs,
    notices,
    new Map(),
    reports,
    uuid7,
    session,
    outbox,
    deviceId,
    helpers,
    (is) => {
      isOpen = is
    },
    begin,
  )

  /** Reads what earlier pages have stored, and sends. Called at the start, and when the consent part opens later. */
  function begin(early?: unknown) {
    // People who work at the shop exclude their browser with `?track_ignore=1`.
    if (readSwitch('track.ignore', store)) close('ignored')
    if (readSwitch(DEBUG, session)) debug(true)
    const stored: string[] = []
    outbox.all(stored)
    const replay = takeEarlyCalls(stored, early, helpers)
    replay()
    flush.resume()
    return replay
  }

  let replay: ReturnType<typeof takeEarlyCalls> | undefined
  const join: Join = (config, parts) => {
    if (configs.has(config.key)) return
    configs.set(config.key, config)
    if (parts.consent) startParts({ consent: parts.consent }, config)
    // The tag asks for consent, and its script does not have the part for it.
    else if ((config.consent ?? 'granted') !== 'granted') {
      close('no_consent')
      ;(helpers as { consentState?: string }).consentState = undefined as never
    }
    whenShown(() => {
      if (replay) {
        replay((other) => other === config)
        flush.resume()
      } else {
        replay = begin(stub)
        listen(window, 'pagehide', flush.leave)
        listen(document, 'visibilitychange', () =>
          document.hidden ? flush.leave() : flush.fresh(),
        )
        listen(window, 'online pageshow', (event) => {
          if (!((event as PageTransitionEvent).persisted ?? true)) return
          // A page in the back/forward cache gets no storage events.
          deviceId.read()
          flush.resume()
        })
      }
      startParts(parts, config)
    })
  }
  listen(window, 'storage', deviceId.read)
  window[name] = helpers
  return join
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
    const config = readConfig(served, document)
    performance.shoptrail ??= start(config, parts)
    performance.shoptrail(config, parts)
  } catch {
    // The script can not start on this page. That must not cause an error.
  }
}
