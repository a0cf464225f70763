import type { Config } from '../tracker/config.ts'
import { createDeviceId } from '../tracker/deviceId.ts'
import { createIsDuplicate, type Reports } from '../tracker/duplicates.ts'
import { createFlush } from '../tracker/flush.ts'
import { createStore } from '../tracker/lib/storage.ts'
import { uuid7 } from '../tracker/lib/uuid.ts'
import { createNotices, type Notice } from '../tracker/notices.ts'
import { createOutbox } from '../tracker/outbox.ts'
import { dataLayer } from '../tracker/parts/dataLayer.ts'
import type { Part } from '../tracker/parts.ts'
import { createTrack } from '../tracker/track.ts'

export type Payload = { readonly [name: string]: unknown }

/** What the script fills in by itself, which a test of what reports events does not ask for. */
const FILLED_IN = ['did', 'url', 'http_user_agent', 'source', 'remote_addr']

/**
 * The script of a page up to its outbox, for tests of what reports events: everything is real, but
 * storage keeps nothing and no request is ever answered.
 *
 * @param settings Of the page's keys. Default one key without any.
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
  const track = createTrack(
    configs,
    createDeviceId(store, { cookie: '' }),
    outbox,
    flush,
    notices,
    createIsDuplicate(reports),
  )
  const state: Parameters<Part> = [track, configs, notices, new Map(), reports, uuid7]
  const follow = dataLayer(...state)
  return {
    state,
    track,
    /** Starts the bridge for every key, after the other parts have started. */
    follow() {
      for (const config of configs.values()) follow?.(config)
    },
    /** What was accepted, in order, without what the script fills in. */
    events: (): Payload[] =>
      outbox.own().map(({ body }) => {
        const payload = JSON.parse(body)
        for (const name of FILLED_IN) delete payload[name]
        return payload
      }),
    /** Addresses of the accepted events, in order. */
    urls: (): string[] => outbox.own().map(({ body }) => JSON.parse(body).url),
    /** What was dropped, in order: the listeners are told in a task of their own. */
    async dropped() {
      await Promise.resolve()
      await Promise.resolve()
      return dropped
    },
  }
}
