import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { makeFolder, workerFile } from '../../test/gateway.ts'
import type { EventLog } from '../collect/eventLog.ts'
import { createSqliteLog } from '../sqlite/eventLog.ts'
import { openPersonStore } from '../sqlite/personStore.ts'
import { startSqliteThread } from '../sqlite/thread.ts'
import { createLivePages } from './livePages.ts'
import { streamEvents, type Watch } from './liveStream.ts'

/** How much and how often live views read from a real log, and in which order of customers. */
const folder = makeFolder()
const logs: EventLog[] = []

afterAll(async () => {
  await Promise.all(logs.map((log) => log.close()))
  rmSync(folder, { recursive: true })
})

/** A log that records the customer of each read, and how many reads ran at the same time. */
async function openLog() {
  const file = join(folder, `${logs.length}.db`)
  const log = createSqliteLog(await startSqliteThread(file, workerFile()))
  logs.push(log)
  const reads: string[] = []
  let running = 0
  let most = 0
  return {
    ...log,
    file,
    reads,
    most: () => most,
    read: async (range: Parameters<EventLog['read']>[0]) => {
      reads.push(range.customer ?? '')
      most = Math.max(most, ++running)
      try {
        return await log.read(range)
      } finally {
        running--
      }
    },
  }
}

/** Appends events of these sizes, bytes of payload; the name of an event is its number among all of the customer's. */
const append = (log: EventLog, sizes: readonly number[], customer = 'shop', from = 0) =>
  log.append(
    sizes.map((size, i) => ({
      customer,
      id: randomUUID(),
      at: 1,
      receivedAt: 2,
      operation: 'search',
      event: `e${from + i}`,
      did: 'd-1',
      bot: false,
      version: null,
      payload: JSON.stringify({ search_term: 'x'.repeat(size - 18) }),
    })),
  )
const named = (count: number) => Array.from({ length: count }, (_, i) => `e${i}`)

/** Opens a view. `next` takes one piece, as a socket does when it has sent the one before. */
function open(log: EventLog, given: Partial<Watch> = {}) {
  let onEnd = () => {}
  const ended = new Promise<void>((resolve) => {
    onEnd = resolve
  })
  const stream = streamEvents({
    pages: createLivePages(log),
    subscribe: log.subscribe,
    customer: 'shop',
    lastEventId: undefined,
    findEnd: () => undefined,
    closing: new AbortController().signal,
    onEnd,
    ...given,
  })
  const reader = stream.getReader()
  return { ended, next: async () => (await reader.read()).value, cancel: () => reader.cancel() }
}

/** The events that a browser has taken out of a text, which may end in the middle of one. */
const eventsIn = (text: string) =>
  [...text.matchAll(/^event: event\nid: (\d+)\ndata: (.*)\n\n/gm)].map(([, seq, data = '']) => ({
    seq: Number(seq),
    event: JSON.parse(data).event as string,
  }))
const namesIn = (text: string) => eventsIn(text).map(({ event }) => event)

/** Reads pieces until the events are there; answers the text. */
async function readUntil(view: ReturnType<typeof open>, count: number): Promise<string> {
  let text = ''
  while (eventsIn(text).length < count) text += Buffer.from((await view.next()) ?? []).toString()
  return text
}

test('a hundred views that do not read hold a page each, which those of a customer share', async () => {
  const log = await openLog()
  const customers = Array.from({ length: 10 }, (_, i) => `shop-${i}`)
  for (const customer of customers) await append(log, Array(40).fill(15_000), customer)
  const pages = createLivePages(log)
  const views = Array.from({ length: 100 }, (_, i) =>
    open(log, { pages, customer: customers[i % 10] as string }),
  )
  await Promise.all(views.map((view) => view.next()))
  const held = await Promise.all(views.map((view) => view.next()))
  const buffers = new Set(held.map((piece) => piece?.buffer))
  const bytes = [...buffers].map((buffer) => buffer?.byteLength ?? 0)
  expect(Math.min(...bytes)).toBeGreaterThan(15_000)
  expect(Math.max(...bytes)).toBeLessThanOrEqual(131_072)
  expect(buffers.size).toBe(10)
  expect(log.reads).toHaveLength(10)
  expect(log.most()).toBe(1)
  // New events are not read before the last page is taken.
  for (const customer of customers) await append(log, [100], customer)
  expect(log.reads).toHaveLength(10)
  await Promise.all(views.map((view) => view.cancel()))
})

test('a view that reads slowly gets every event in order, however large', async () => {
  const log = await openLog()
  const sizes = Array.from({ length: 300 }, (_, i) => (i % 7 ? 200 + i * 40 : 120_000))
  await append(log, sizes.slice(0, 150))
  const view = open(log)
  const names: string[] = []
  let appended = 150
  while (names.length < sizes.length) {
    const piece = await view.next()
    expect(piece?.length).toBeLessThanOrEqual(131_072)
    names.push(...namesIn(Buffer.from(piece ?? []).toString()))
    await append(log, sizes.slice(appended, appended + 10), 'shop', appended)
    appended += 10
  }
  expect(names).toEqual(named(sizes.length))
  await view.cancel()
})

test.each([1, 700, 40_000, 70_000])(
  'a view that breaks after %i bytes continues, and gets each event once',
  async (length) => {
    const log = await openLog()
    await append(log, Array(120).fill(900))
    const first = open(log)
    const before = eventsIn((await readUntil(first, 120)).slice(0, length))
    await first.cancel()
    await append(log, Array(20).fill(900), 'shop', 120)
    const second = open(log, { lastEventId: before.at(-1)?.seq ?? 0 })
    const after = eventsIn(await readUntil(second, 140 - before.length))
    expect([...before, ...after].map(({ event }) => event)).toEqual(named(140))
    await second.cancel()
  },
)

test('views at different positions share pages, and miss nothing', async () => {
  const log = await openLog()
  const pages = createLivePages(log)
  const views = Array.from({ length: 10 }, () => open(log, { pages }))
  const texts: string[] = await Promise.all(views.map((view) => readUntil(view, 0)))
  for (let round = 0; round < 5; round++) {
    await append(log, [200, 200], 'shop', round * 2)
    const behind = views.flatMap((view, i) => (i % 5 <= round ? [{ view, i }] : []))
    await Promise.all(
      behind.map(async ({ view, i }) => {
        texts[i] += await readUntil(view, (round + 1) * 2 - eventsIn(texts[i] ?? '').length)
      }),
    )
  }
  for (const text of texts) expect(namesIn(text)).toEqual(named(10))
  expect(log.most()).toBe(1)
  // Ten views that take five pages each, and ask after each whether there is more, would be a hundred.
  expect(log.reads.length).toBeLessThan(70)
  await Promise.all(views.map((view) => view.cancel()))
})

test('customers are read in turn: one with many views does not go first', async () => {
  const log = await openLog()
  for (const customer of ['many', 'one']) await append(log, Array(6).fill(60_000), customer)
  const pages = createLivePages(log)
  const many = Array.from({ length: 9 }, (_, after) => pages.read('many', after))
  const one = pages.read('one', 0)
  await Promise.all([...many, one])
  expect(log.reads.indexOf('one')).toBeLessThanOrEqual(2)
})

test('a view that opens after an erasure by another process does not get the page that was kept', async () => {
  const log = await openLog()
  await append(log, [100, 100, 100])
  const pages = createLivePages(log)
  const first = open(log, { pages })
  expect(namesIn(await readUntil(first, 3))).toEqual(named(3))
  const heard = new Promise<void>((resolve) => {
    log.subscribe((customers) => {
      if (!customers) resolve()
    }, 'shop')
  })
  const files = { eventsFile: log.file, reportsFile: `${log.file}-none` }
  const store = openPersonStore(files, 'shop', { did: 'd-1' }, Date.now)
  for (const work of [store.search(), store.erase()]) while (!work.next().done);
  store.close()
  await heard
  const later = open(log, { pages, lastEventId: 1 })
  await later.next()
  await append(log, [100], 'shop', 3)
  expect(namesIn(await readUntil(later, 1))).toEqual(['e3'])
  await Promise.all([first.cancel(), later.cancel()])
})

test('events of one customer do not make views of others read', async () => {
  const log = await openLog()
  const [view, other] = [open(log), open(log, { customer: 'other' })]
  await Promise.all([view.next(), other.next()])
  const waiting = [view.next(), other.next()]
  await append(log, [100])
  await waiting[0]
  const before = log.reads.filter((customer) => customer === 'other').length
  expect(before).toBeLessThanOrEqual(1)
  await append(log, [100], 'shop', 1)
  await view.next()
  expect(log.reads.filter((customer) => customer === 'other').length).toBeLessThanOrEqual(1)
  await Promise.all([view.cancel(), other.cancel()])
})

test('a view counts until its last read ends, also if it was aborted or the log is closed', async () => {
  const log = await openLog()
  await append(log, [100])
  let isOver = false
  let finish = () => {}
  const slow: EventLog = {
    ...log,
    findTail: async (...asked) => {
      await new Promise<void>((resolve) => {
        finish = resolve
      })
      return log.findTail(...asked)
    },
  }
  const view = open(slow)
  view.ended.then(() => {
    isOver = true
  })
  const reading = view.next()
  await new Promise(setImmediate)
  await view.cancel()
  await new Promise(setImmediate)
  expect(isOver).toBe(false)
  finish()
  await Promise.all([reading, view.ended])

  const broken = open({ ...log, findTail: () => Promise.reject(new Error('gone')) })
  expect(await broken.next()).toBeUndefined()
  await broken.ended
})
