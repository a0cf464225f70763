import { vi } from 'vitest'
import type { Config } from '../tracker/config.ts'
import { createFlush } from '../tracker/flush.ts'
import { createInTurn, type Locks } from '../tracker/lib/inTurn.ts'
import { createStore } from '../tracker/lib/storage.ts'
import { uuid7 } from '../tracker/lib/uuid.ts'
import { createNotices, type Notice } from '../tracker/notices.ts'
import { createOutbox, type Entry } from '../tracker/outbox.ts'
import type { Answer, Send } from '../tracker/transport.ts'
import { createMemoryStorage } from './storage.ts'

/** One request as it was asked for; `answer` ends it. */
export type Request = {
  readonly key: string
  readonly names: readonly string[]
  readonly keepalive: boolean
  readonly at: number
  answer(status?: number, more?: Partial<Answer>): Promise<void>
}

/** What a gateway says of each event under a status: final where it judges the event itself. */
export const verdictsOf = (entries: readonly Entry[], status: number) =>
  entries.map(({ name }) =>
    status >= 200 && status < 300
      ? { id: name, status }
      : [400, 413, 422].includes(status) && entries.length < 2
        ? { id: name, status, message: 'why' }
        : undefined,
  )

export type Setting = {
  readonly storage?: Storage
  readonly locks?: Locks | undefined
  readonly keys?: readonly Partial<Config>[]
  /** The status every request gets at once. Default: they wait for `answer`. */
  readonly always?: number | ((entries: readonly Entry[]) => Answer)
}

/** A page: a real outbox over storage, a real turn, and a network that the test plays. */
export function openPage({
  storage = createMemoryStorage(),
  locks,
  keys = [{}],
  always,
}: Setting = {}) {
  const store = createStore(() => storage)
  const outbox = createOutbox(store)
  const configs = new Map<string, Config>()
  const addKey = (more: Partial<Config> = {}) => {
    const config = { key: 'DEMOSHOP', base: 'https://gw.example', batch: true, ...more }
    configs.set(config.key, config)
  }
  keys.forEach(addKey)
  const requests: Request[] = []
  const send: Send = ({ key }, entries, keepalive) =>
    new Promise((resolve) => {
      const answer = async (status = 200, more = {}) => {
        resolve({ status, afterMs: 0, results: verdictsOf(entries, status), ...more })
        await vi.advanceTimersByTimeAsync(0)
      }
      const names = entries.map(({ name }) => name)
      requests.push({ key, names, keepalive, at: Date.now(), answer })
      if (typeof always === 'function') resolve(always(entries))
      else if (always !== undefined) void answer(always)
    })
  const notices = createNotices()
  const heard: (Notice & { kind: string })[] = []
  for (const kind of ['delivered', 'dropped'] as const)
    notices.on(kind, (notice) => heard.push({ kind, ...notice }))
  const held: Notice[] = []
  notices.on('held', (notice) => held.push(notice))
  const flush = createFlush(outbox, send, configs, notices, createInTurn(locks, store))

  /** Accepts an event as the page does: kept, then told to flush. */
  const track = (bytes = 300, key = 'DEMOSHOP') => {
    const id = uuid7(Date.now())
    const name = key === 'DEMOSHOP' ? id : `${id}.${key}`
    outbox.add({ name, at: Date.now(), key, body: `{"x":"${'x'.repeat(bytes - 8)}"}` })
    flush.fresh()
    return name
  }
  return { storage, outbox, flush, requests, heard, held, track, addKey }
}

/** Fake time passes. */
export const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)

/** A storage in which an earlier page has left events. */
export async function leaveBehind(
  count: number,
  { ageMs = 60_000, key = 'DEMOSHOP', bytes = 300 } = {},
) {
  const page = openPage({ keys: [{ key }] })
  const now = Date.now()
  vi.setSystemTime(now - ageMs)
  const names = Array.from({ length: count }, () => {
    const name = uuid7(now - ageMs)
    const body = `{"x":"${'x'.repeat(bytes - 8)}"}`
    page.outbox.add({ name, at: now - ageMs, key, body })
    return name
  })
  vi.setSystemTime(now)
  return { storage: page.storage, names }
}
