import type { Config } from '../tracker/config.ts'
import { createDeviceId } from '../tracker/deviceId.ts'
import { createIsDuplicate, type Reports } from '../tracker/duplicates.ts'
import { createFlush } from '../tracker/flush.ts'
import type { TrackApi } from '../tracker/global.d.ts'
import { createStore } from '../tracker/lib/storage.ts'
import { uuid7 } from '../tracker/lib/uuid.ts'
import { createNotices, type Notice } from '../tracker/notices.ts'
import { createOutbox } from '../tracker/outbox.ts'
import { dataLayer } from '../tracker/parts/dataLayer.ts'
import type { Part } from '../tracker/parts.ts'
import { createTrack } from '../tracker/track.ts'

export type Payload = { readonly [name: string]: unknown }

/** Fields that the script fills in. Tests of reporters leave them out. */
const FILLED_IN = ['did', 'url', 'http_user_agent', 'source', 'remote_addr']

/**
 * The script of a page up to its outbox, for tests of reporters. All its modules are real, but storage fails and no
 * request is answered.
 *
 * @param settings The configuration of each key on the page. Default: one key without settings.
 */
export function watchTrack(...settings: Partial<Config>[]) {
  const configs = new Map<string, Config>()
  for (const config of settings.length ? settings : [{}]) {
    const key = config.key ?? 'ABC123'
    configs.set(key, { base: 'http://gateway.example', ...config, key })
  }
  const store = createStore(() => {
    throw new DOMException('blocked', 'SecurityError')
  })
  const notices = createNotices()
  const dropped: Notice[] = []
  notices.on('dropped', (notice) => void dropped.push(notice))
  const outbox = createOutbox(store)
  const send = () => new Promise<never>(() => {})
  const flush = createFlush(outbox, send, configs, notices, async () => false)
  const reports: Reports = new Map()
  const deviceId = createDeviceId(store, () => ({ cookie: '' }))
  const isDuplicate = createIsDuplicate(reports)
  const track = createTrack(configs, deviceId, outbox, flush, notices, isDuplicate)
  const state: Parameters<Part> = [
    track,
    configs,
    notices,
    new Map(),
    reports,
    uuid7,
    createStore(() => sessionStorage),
    outbox,
    deviceId,
    // The parts of these tests do not use the rest.
    {} as TrackApi,
    () => {},
    () => {},
  ]
  const startFor = dataLayer(...state)
  return {
    state,
    track,
    /** Starts the dataLayer part for every key. To be called when the other parts have started. */
    startDataLayer() {
      for (const config of configs.values()) startFor?.(config)
    },
    /** The payloads of accepted events, in order, without the fields that the script fills in. */
    events: (): Payload[] =>
      outbox.own().map(({ body }) => {
        const payload = JSON.parse(body)
        for (const name of FILLED_IN) delete payload[name]
        return payload
      }),
    /** URLs of the accepted events, in order. */
    urls: (): string[] => outbox.own().map(({ body }) => JSON.parse(body).url),
    /** Notices of dropped events, in order. Listeners are called in a later microtask. */
    async dropped() {
      await Promise.resolve()
      await Promise.resolve()
      return dropped
    },
  }
}
