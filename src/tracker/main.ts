import { type Config, readConfig } from './config.ts'
import { createDeviceId } from './deviceId.ts'
import { takeEarlyCalls } from './earlyCalls.ts'
import { createFlush } from './flush.ts'
import type { TrackApi } from './global.d.ts'
import { createHelpers } from './helpers.ts'
import { createInTurn, type Locks } from './lib/inTurn.ts'
import { listen } from './lib/listen.ts'
import { createStore } from './lib/storage.ts'
import { whenShown } from './lib/whenShown.ts'
import { createNotices } from './notices.ts'
import { createOutbox } from './outbox.ts'
import { createTrack } from './track.ts'
import { createSend } from './transport.ts'

/** Around the bundle the build puts a function of it, and the gateway calls that with a key's. */
declare const __config__: Config

/** What a copy of the script tells the copy that was there before it. */
type Running = TrackApi & { join(config: Config): void }

function start(config: Config, stub: unknown) {
  const configs = new Map([[config.key, config]])
  const store = createStore(() => localStorage)
  const notices = createNotices()
  const deviceId = createDeviceId(store, document)

  const outbox = createOutbox(store)
  const inTurn = createInTurn(navigator.locks as Locks | undefined, store)
  const flush = createFlush(outbox, createSend(fetch), configs, notices, inTurn)

  const track = createTrack(configs, deviceId, outbox, flush, notices)
  const helpers = createHelpers(track, deviceId, outbox, flush, notices)

  let replay: ReturnType<typeof takeEarlyCalls>
  whenShown(() => {
    replay = takeEarlyCalls(outbox.takeCalls(), stub, helpers)
    replay()
    flush.resume()
    listen(window, 'pagehide', () => flush.leave(true))
    listen(document, 'visibilitychange', () => flush.leave(document.hidden))
    listen(window, 'online pageshow', (event) => {
      if ((event as PageTransitionEvent).persisted ?? true) flush.resume()
    })
  })
  window.track = Object.assign(helpers, {
    join(joining: Config) {
      if (configs.has(joining.key)) return
      configs.set(joining.key, joining)
      whenShown(() => {
        replay((config) => config === joining)
        flush.resume()
      })
    },
  })
}

try {
  const config = readConfig(__config__, document)
  const there = window.track as Running | undefined
  if (typeof there?.version === 'string') there.join(config)
  else start(config, there)
} catch {
  // A page in which the script can not start goes on without it.
}
