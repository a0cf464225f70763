import type { TrackingOperation } from '../contract/payloads.ts'
import type { DeviceId } from './deviceId.ts'
import type { Flush } from './flush.ts'
import type { TrackApi } from './global.d.ts'
import { now } from './lib/now.ts'
import { whenShown } from './lib/whenShown.ts'
import type { Notices } from './notices.ts'
import type { Outbox } from './outbox.ts'
import { schemas } from './schemas.ts'
import type { Track, TrackOptions } from './track.ts'

declare const __version__: string

/** The value of `window.track`. A helper has a second, internal parameter, for early calls: options of `track`. */
export function createHelpers(
  track: Track,
  deviceId: DeviceId,
  outbox: Outbox,
  flush: Flush,
  notices: Notices,
  debug: TrackApi['debug'],
): TrackApi {
  const helpers: { [O in TrackingOperation]?: unknown } = {}
  for (const operation of Object.keys(schemas) as TrackingOperation[])
    helpers[operation] = (payload: unknown, options?: TrackOptions) =>
      new Promise((resolve) => {
        const all = { at: now(), url: location.href, ...options }
        whenShown(() => resolve(track(operation, payload, all)))
      })
  return {
    ...(helpers as Pick<TrackApi, TrackingOperation>),
    get did() {
      return deviceId.get()
    },
    consent() {},
    consentState: 'granted',
    flush: flush.all,
    // The listeners of consent get the state in place of a notice.
    on: notices.on as TrackApi['on'],
    reset() {
      outbox.all([], true).map(({ name }) => outbox.remove(name))
      deviceId.reset()
    },
    debug,
    version: __version__,
  }
}
