import { vi } from 'vitest'
import type { Verdict } from '../contract/delivery.ts'
import type { Config } from '../tracker/config.ts'
import { createFlush } from '../tracker/flush.ts'
import { createStore } from '../tracker/lib/storage.ts'
import { createTabLock, type Locks } from '../tracker/lib/tabLock.ts'
import { uuid7 } from '../tracker/lib/uuid.ts'
import { createNotices, type Notice } from '../tracker/notices.ts'
import { createOutbox, type Entry, idOf } from '../tracker/outbox.ts'
import type { Answer, Send } from '../tracker/transport.ts'
import { createMemoryStorage } from './storage.ts'

type More = { readonly afterMs?: number; readonly verdicts?: readonly Verdict[] }

/** A request that the script has made. `answer` ends it. */
export type Request = {
  readonly key: string
  /** The gateway's address. */
  readonly base: string
  readonly names: readonly string[]
  readonly keepalive: boolean
  readonly at: number
  answer(status?: number, more?: More): Promise<void>
}

/** A question: `names` are the entries that it is about. */
export type Question = Omit<Request, 'keepalive'>

/** The verdicts in a gateway's answer with this status. None if the status is not about a single event. */
export const verdictsOf = (entries: readonly Entry[], status: number): Verdict[] => {
  if (status >= 200 && status < 300) return entries.map(({ name }) => ({ id: idOf(name), status }))
  const isFinal = [400, 413, 422].includes(status) && entries.length < 2
  return isFinal ? entries.map(({ name }) => ({ id: idOf(name), status, message: 'why' })) : []
}

export type Setting = {
  readonly storage?: Storage
  readonly locks?: Locks | undefined
  readonly keys?: readonly Partial<Config>[]
  /** Answers every request at once, with this status. Default: requests wait for `answer`. */
  readonly always?: number | ((entries: readonly Entry[], config: Config) => Answer)
  /** Questions wait for `answer`. Default: they are answered at once, by the events that this page has delivered. */
  readonly holdsQuestions?: boolean
}

/** A page with a real outbox over storage and a real tab lock. The test answers the requests. */
export function openPage({
  storage = createMemoryStorage(),
  locks,
  keys = [{}],
  always,
  holdsQuestions = false,
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
  const questions: Question[] = []
  const delivered = new Set<string>()
  const send: Send = (config, entries, keepalive, asks) =>
    new Promise((resolve) => {
      const { key, base } = config
      const names = entries.map(({ name }) => name)
      const end = (answer: Answer) => {
        for (const { id, status } of answer[2]) if (status < 300) delivered.add(id)
        resolve(answer)
      }
      const answer = async (status = 200, { afterMs = 0, verdicts }: More = {}) => {
        const known = names
          .filter(() => status >= 200 && status < 300)
          .map((name) => ({ id: idOf(name), status: delivered.has(idOf(name)) ? 200 : 404 }))
        end([status, afterMs, verdicts ?? (asks ? known : verdictsOf(entries, status))])
        await vi.advanceTimersByTimeAsync(0)
      }
      if (asks) {
        questions.push({ key, base, names, at: Date.now(), answer })
        if (!holdsQuestions) void answer(typeof always === 'number' ? always : 200)
        return
      }
      requests.push({ key, base, names, keepalive, at: Date.now(), answer })
      if (typeof always === 'function') end(always(entries, config))
      else if (always !== undefined) void answer(always)
    })
  const notices = createNotices()
  const settled: (Notice & { kind: string })[] = []
  for (const kind of ['delivered', 'dropped'] as const)
    notices.on(kind, (notice) => settled.push({ kind, ...notice }))
  const sent: Notice[] = []
  notices.on('sent', (notice) => sent.push(notice))
  const held: Notice[] = []
  notices.on('held', (notice) => held.push(notice))
  const flush = createFlush(
    outbox,
    send,
    configs,
    notices,
    createTabLock(() => locks, store),
  )

  /** Accepts an event as the page does: adds it to the outbox, and calls `flush.fresh`. */
  const track = (bytes = 300, key = 'DEMOSHOP', about: Entry['about'] = {}) => {
    const id = uuid7(Date.now())
    const name = key === 'DEMOSHOP' ? id : `${id}.${key}`
    outbox.add({ name, at: Date.now(), key, body: `{"x":"${'x'.repeat(bytes - 8)}"}`, about })
    flush.fresh()
    return name
  }
  return { storage, outbox, flush, requests, questions, settled, sent, held, track, addKey }
}

/** Advances the fake time, and runs what is due. */
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
