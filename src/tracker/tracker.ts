import type { DropReason } from '../contract/delivery.ts'
import type { Config } from './config.ts'
import { createDebug, DEBUG } from './debug.ts'
import type { DeviceCookie } from './deviceCookie.ts'
import { createDeviceId } from './deviceId.ts'
import { createIsDuplicate, type Reports } from './duplicates.ts'
import { takeEarlyCalls } from './earlyCalls.ts'
import { createFlush } from './flush.ts'
import { createHelpers } from './helpers.ts'
import { listen } from './lib/listen.ts'
import { readSwitch } from './lib/readSwitch.ts'
import { createStore } from './lib/storage.ts'
import { createTabLock, type Locks } from './lib/tabLock.ts'
import { uuid7 } from './lib/uuid.ts'
import { whenShown } from './lib/whenShown.ts'
import { createNotices } from './notices.ts'
import { createOutbox } from './outbox.ts'
import { createParts, type Parts } from './parts.ts'
import { createCount } from './problems.ts'
import { createTrack } from './track.ts'
import { createSend } from './transport.ts'

/** Adds a key to a tracker. */
export type Join = (config: Config, parts: Parts) => void

/** Whether the build has deviceCookie.ts, or another such function. A constant, so that the others contain no call of it. */
declare const __deviceCookie__: boolean

/**
 * Makes a tracker, for the script (main.ts) and for pages that bundle it (index.ts). It starts when its first key joins.
 * It works in a worker too: then `document`, `window` and storage do not exist.
 *
 * @param config The configuration of the first key.
 * @param parts Its parts. With the consent part, storage and cookies are closed until that opens them.
 * @param globals Gets the helpers. It may have a stub with earlier calls (earlyCalls.ts).
 * @param name The name of the helpers in `globals`.
 * @param local Returns localStorage, or what takes its place. May throw.
 * @param keep Keeps the device id in another way than in `local`.
 */
export function runTracker(
  config: Config,
  parts: Parts,
  globals: { [name: string]: unknown },
  name: string,
  local: () => Storage,
  keep?: DeviceCookie,
): Join {
  const stub = globals[name]
  /** Whether storage and cookies may be used. The consent part opens them once it knows that they may. */
  let isOpen = !parts.consent
  const store = createStore(() => isOpen && local())
  const session = createStore(() => isOpen && sessionStorage)
  const configs = new Map<string, Config>()
  const notices = createNotices()
  const cookies = () => (isOpen && document) as Document
  // The first key decides.
  const keeping = __deviceCookie__ ? keep?.(config, store, cookies, fetch) : undefined
  const deviceId = createDeviceId(
    keeping ? keeping[0] : store,
    keeping ? keeping[1] : cookies,
    config.adoptDid,
  )
  const reports: Reports = new Map()
  const outbox = createOutbox(store)
  /** From now on no event is accepted, nothing is stored, and what earlier pages have stored is not sent. */
  const close = (reason: DropReason) => {
    isOpen = false
    outbox.add = () => reason
  }

  notices.count = createCount(store)
  const withTabLock = createTabLock(() => navigator.locks as Locks, store)
  const flush = createFlush(
    outbox,
    createSend(keeping ? keeping[2] : fetch, store),
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
        listen(self, 'pagehide', flush.leave)
        // A worker has no document.
        listen(
          self,
          'visibilitychange',
          () => (document.hidden ? flush.leave() : flush.fresh()),
          true,
        )
        listen(self, 'online pageshow', (event) => {
          if (!((event as PageTransitionEvent).persisted ?? true)) return
          // A page in the back/forward cache gets no storage events.
          deviceId.read()
          flush.resume()
        })
      }
      startParts(parts, config)
    })
  }
  globals[name] = helpers
  listen(self, 'storage', deviceId.read)
  return join
}
