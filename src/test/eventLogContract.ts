import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { expect, inject, test, vi } from 'vitest'
import type { EventLog, LogEvent } from '../gateway/collect/eventLog.ts'
import { createGroupCommit } from '../gateway/collect/groupCommit.ts'
import { dayOf, type Usage } from '../gateway/customers/usage.ts'
import { Unavailable } from '../gateway/lib/unavailable.ts'
import type { LogPlace } from './appendEvents.ts'
import { makeLogEvent } from './logEvents.ts'

/** A log that several processes can open. */
export type LogUnderTest = {
  /** Opens it, like another process. */
  open(): Promise<EventLog>
  /** Where the process of appendEvents.ts finds it. */
  readonly place: LogPlace
  /** Removes one event from the disk, as an erasure does. */
  remove(customer: string, seq: number): Promise<void>
}

/** Time for what another process or a server does, ms. Long, for busy machines. */
const PATIENCE = { timeout: 30_000, interval: 20 }

const makeCustomer = () => `c${randomUUID().slice(0, 8)}`

/**
 * The contract of EventLog, for the engine alone and behind the queue that shares commits.
 *
 * @param make A log with no events of the customers that the tests make.
 */
export function checkEventLog(name: string, make: () => Promise<LogUnderTest>): void {
  const alone = make
  const behindQueue = async (): Promise<LogUnderTest> => {
    const log = await make()
    return { ...log, open: async () => createGroupCommit(await log.open()) }
  }

  for (const [title, start] of [
    [name, alone],
    [`${name} behind the queue`, behindQueue],
  ] as const) {
    test(`${title}: appended events are read back, in order, with growing positions`, async () => {
      const log = await (await start()).open()
      const customer = makeCustomer()
      const events = [
        makeLogEvent({ customer }),
        makeLogEvent({ customer, did: null, bot: true, version: '1.2.0-rc.1+b7' }),
        makeLogEvent({ customer, did: 'nul \0 inside' }),
      ]
      expect(await log.append(events)).toEqual(['stored', 'stored', 'stored'])
      const records = await log.read({ customer, max: 10 })
      const positions = records.map(({ seq }) => seq)
      expect(records).toEqual(events.map((event, i) => ({ ...event, seq: positions[i] })))
      expect(positions).toEqual([...new Set(positions)].sort((a, b) => a - b))
      expect(positions[0]).toBeGreaterThan(0)
      await log.close()
    })

    test(`${title}: many appends at once keep the order of a customer`, async () => {
      const log = await (await start()).open()
      const customers = [makeCustomer(), makeCustomer(), makeCustomer()]
      const events = Array.from({ length: 300 }, (_, i) =>
        makeLogEvent({ customer: customers[i % 3] as string, event: `e${i}` }),
      )
      await Promise.all(events.map((event) => log.append([event])))
      for (const customer of customers)
        expect((await log.read({ customer, max: 999 })).map(({ event }) => event)).toEqual(
          events.filter((event) => event.customer === customer).map(({ event }) => event),
        )
      await log.close()
    })

    test(`${title}: an id is stored once a customer`, async () => {
      const { open } = await start()
      const log = await open()
      const [customer, another] = [makeCustomer(), makeCustomer()]
      const event = makeLogEvent({ customer })
      const again = { ...event, id: event.id.toUpperCase(), payload: '{"other":true}' }
      expect(await log.append([event, event])).toEqual(['stored', 'duplicate'])
      expect(await log.append([again])).toEqual(['duplicate'])
      expect(await log.append([{ ...event, customer: another }])).toEqual(['stored'])
      const outcomes = await Promise.all(
        Array.from({ length: 20 }, () =>
          log.append([makeLogEvent({ customer, id: event.id }), makeLogEvent({ customer })]),
        ),
      )
      expect(outcomes).toEqual(Array(20).fill(['duplicate', 'stored']))
      await log.close()

      const reopened = await open()
      expect(await reopened.append([event])).toEqual(['duplicate'])
      const records = await reopened.read({ customer, max: 100 })
      expect(records).toHaveLength(21)
      expect(records[0]?.payload).toBe(event.payload)
      expect(await reopened.read({ customer: another, max: 100 })).toHaveLength(1)
      await reopened.close()
    })

    test(`${title}: asked which ids a customer has, also while they are being stored`, async () => {
      const { open } = await start()
      const log = await open()
      const [customer, another] = [makeCustomer(), makeCustomer()]
      const [a, b] = [makeLogEvent({ customer }), makeLogEvent({ customer })]
      const c = makeLogEvent({ customer: another })
      await log.append([c])
      const appends = [log.append([a]), log.append([b])]
      const ids = [b.id, randomUUID(), a.id.toUpperCase(), c.id, b.id]
      // In a cluster a follower answers, or nothing is reported as stored.
      await vi.waitFor(
        async () => expect(await log.has(customer, ids)).toEqual([true, false, true, false, true]),
        PATIENCE,
      )
      expect(await log.has(customer, [])).toEqual([])
      await Promise.all(appends)
      const other = await open()
      await vi.waitFor(
        async () => expect(await other.has(another, [a.id, c.id])).toEqual([false, true]),
        PATIENCE,
      )
      await other.close()
      await log.close()
      await expect(log.has(customer, ids)).rejects.toThrow(Unavailable)
    })

    test(`${title}: reads continue after a position, and begin at the tail`, async () => {
      const log = await (await start()).open()
      const [a, b, c] = [makeCustomer(), makeCustomer(), makeCustomer()]
      for (let i = 0; i < 5; i++)
        await log.append([makeLogEvent({ customer: i % 2 ? b : a, event: `e${i}` })])
      const names = async (read: ReturnType<EventLog['read']>) =>
        (await read).map(({ event }) => event)
      const [first, second, third] = await log.read({ customer: a, max: 9 })
      const read = (after: number | undefined, max: number) =>
        names(log.read({ customer: a, max, ...(after !== undefined && { after }) }))
      expect(await read(undefined, 2)).toEqual(['e0', 'e2'])
      expect(await read(first?.seq, 1)).toEqual(['e2'])
      expect(await read(second?.seq, 9)).toEqual(['e4'])
      expect(await read(third?.seq, 9)).toEqual([])
      const tailOf = async (max: number) =>
        names(log.read({ customer: a, max: 9, ...(await log.findTail(a, max)) }))
      expect(await tailOf(2)).toEqual(['e2', 'e4'])
      expect(await tailOf(3)).toEqual(['e0', 'e2', 'e4'])
      expect(await tailOf(9)).toEqual(['e0', 'e2', 'e4'])
      const [, last] = await log.read({ customer: b, max: 9 })
      expect((await log.findTail(b, 1)).newest).toBe(last?.seq)
      expect(await log.findTail(c, 2)).toEqual({ after: 0, newest: 0 })
      await log.close()
    })

    test(`${title}: a read ends with the record that reaches a sum of bytes`, async () => {
      const log = await (await start()).open()
      const customer = makeCustomer()
      const sizes = [400, 50_000, 400, 400]
      await log.append(
        sizes.map((size) => makeLogEvent({ customer, did: null, payload: 'é'.repeat(size) })),
      )
      const seqs = (await log.read({ customer, max: 9 })).map(({ seq }) => seq)
      const read = async (after: number, maxBytes: number) => {
        const records = await log.read({ customer, after: seqs[after - 1] ?? 0, max: 3, maxBytes })
        return records.map(({ seq }) => seqs.indexOf(seq) + 1)
      }
      expect(await read(0, 1)).toEqual([1])
      expect(await read(0, 4_000)).toEqual([1, 2])
      expect(await read(1, 4_000)).toEqual([2])
      expect(await read(2, 4_000)).toEqual([3, 4])
      // 800 bytes of payload, 6 of the name, 256.
      expect(await read(2, 1_062)).toEqual([3])
      expect(await read(2, 1_063)).toEqual([3, 4])
      expect(await read(0, 1_000_000)).toEqual([1, 2, 3])
      expect(await read(4, 1)).toEqual([])
      // An unfinished read does not block the next write.
      expect(await log.append([makeLogEvent({ customer })])).toEqual(['stored'])
      await log.close()
    })

    test(`${title}: listeners are called for the events of every process until they are removed`, async () => {
      const { open } = await start()
      const [reader, writer] = [await open(), await open()]
      const customer = makeCustomer()
      let after = 0
      const seen: string[] = []
      let calls = 0
      // Reads after each call, as a live view does.
      let reading = Promise.resolve()
      const readOn = async () => {
        for (const record of await reader.read({ customer, after, max: 99 })) {
          seen.push(record.event)
          after = record.seq
        }
      }
      const undo = reader.subscribe(() => {
        calls++
        reading = reading.then(readOn)
      }, customer)
      for (let i = 0; i < 4; i++) {
        const [log] = i % 2 ? [writer] : [reader]
        await log.append([makeLogEvent({ customer, event: `e${i}` })])
        await vi.waitFor(() => expect(seen).toHaveLength(i + 1), PATIENCE)
      }
      expect(seen).toEqual(['e0', 'e1', 'e2', 'e3'])
      undo()
      const before = calls
      await writer.append([makeLogEvent({ customer })])
      await reader.append([makeLogEvent({ customer })])
      expect(calls).toBe(before)
      await Promise.all([reader.close(), writer.close()])
    })

    test(`${title}: a probe stores no event`, async () => {
      const log = await (await start()).open()
      const customer = makeCustomer()
      await log.append([makeLogEvent({ customer })])
      await log.probe()
      expect(await log.read({ customer, max: 9 })).toHaveLength(1)
      expect(log.health()).toEqual({ writable: true })
      await log.close()
    })

    test(`${title}: a log that is closed while it is busy stores what it has accepted, and no more`, async () => {
      const { open } = await start()
      const log = await open()
      const customer = makeCustomer()
      const events = Array.from({ length: 200 }, () => makeLogEvent({ customer }))
      const pending = Promise.all(events.map((event) => log.append([event])))
      await log.close()
      expect(await pending).toEqual(Array(200).fill(['stored']))
      await expect(log.append([makeLogEvent({ customer })])).rejects.toBeInstanceOf(Unavailable)
      expect(log.health().writable).toBe(false)
      await log.close()
      const reopened = await open()
      const records = await reopened.read({ customer, max: 999 })
      expect(records.map(({ id }) => id)).toEqual(events.map(({ id }) => id))
      await reopened.close()
    })
  }

  test(`${name}: usage is reported at the start, before an append resolves, and after those of others`, async () => {
    const { open } = await make()
    const [log, other] = [await open(), await open()]
    const customer = makeCustomer()
    const receivedAt = Date.now()
    const event = (given: Partial<LogEvent> = {}) =>
      makeLogEvent({ customer, receivedAt, payload: '{"é":1}', ...given })
    await other.append([event()])
    const sums = new Map<boolean, Usage>()
    const learn = (usages: readonly Usage[]) => {
      for (const usage of usages) if (usage.customer === customer) sums.set(usage.isServer, usage)
    }
    await log.watchUsage(learn)
    const day = dayOf(receivedAt)
    const usage = (events: number, bytes: number, isServer = false): Usage => ({
      ...{ customer, day, isServer, events, bytes },
    })
    await vi.waitFor(() => expect(sums.get(false)).toEqual(usage(1, 8)), PATIENCE)
    const own = event()
    await log.append([own, own, event()])
    expect(sums.get(false)).toEqual(usage(3, 24))
    const order = { operation: 'saveOrder', did: null, payload: '{"number":"1"}' }
    await log.append([event(order)])
    expect(sums.get(true)).toEqual(usage(1, 14, true))
    await other.append([event(), event(order)])
    await vi.waitFor(() => {
      expect(sums.get(false)).toEqual(usage(4, 32))
      expect(sums.get(true)).toEqual(usage(2, 28, true))
    }, PATIENCE)
    await Promise.all([log.close(), other.close()])
  })

  test(`${name}: the position of an event that was removed is not used again`, async () => {
    const { open, remove } = await make()
    const log = await open()
    const customer = makeCustomer()
    await log.append([makeLogEvent({ customer }), makeLogEvent({ customer })])
    const { newest } = await log.findTail(customer, 1)
    await remove(customer, newest)
    expect(await log.read({ customer, max: 9 })).toHaveLength(1)
    await log.append([makeLogEvent({ customer })])
    expect((await log.findTail(customer, 1)).newest).toBeGreaterThan(newest)
    await log.close()
  })

  test(`${name}: kill -9 of a process that appends loses nothing acknowledged, and a resend stores nothing twice`, async () => {
    const { open, place } = await make()
    const customer = makeCustomer()
    const { sent, acknowledged } = await appendUntilKilled(place, customer, 500)
    const log = await open()
    const idsOf = async () => {
      const records = await log.read({ customer, max: 99_999 })
      return records.map(({ id }) => id)
    }
    expect(acknowledged.length).toBeGreaterThanOrEqual(500)
    const stored = new Set(await idsOf())
    expect(acknowledged.filter((id) => !stored.has(id))).toEqual([])
    await log.append(sent.map((id) => makeLogEvent({ customer, id })))
    const ids = await idsOf()
    expect(ids).toHaveLength(sent.length)
    expect(new Set(ids)).toEqual(new Set(sent))
    await log.close()
  })
}

/** Runs the process of appendEvents.ts. */
export async function appendUntilKilled(
  place: LogPlace,
  customer: string,
  enough: number,
  kind: 'events' | 'orders' = 'events',
) {
  // Below dist, so that Node finds the packages.
  const folder = mkdtempSync(`${inject('gatewayBundles')}-`)
  try {
    const outfile = join(folder, 'append.mjs')
    await build({
      entryPoints: [join(import.meta.dirname, 'appendEvents.ts')],
      ...{ outfile, bundle: true, format: 'esm', platform: 'node', target: 'node20' },
      ...{ packages: 'external', logLevel: 'error', define: { __version__: '"1.2.3"' } },
    })
    // Node writes to a file at once. A pipe would lose what the process has in memory.
    const output = join(folder, 'output')
    const file = openSync(output, 'w')
    const child = spawn(
      process.execPath,
      [outfile, JSON.stringify(place), customer, String(enough), kind],
      { stdio: ['ignore', file, 'inherit'] },
    )
    const signal = await new Promise((resolve) =>
      child.once('exit', (_, signal) => resolve(signal)),
    )
    closeSync(file)
    expect(signal).toBe('SIGKILL')
    const lines = readFileSync(output, 'utf8').split('\n')
    const idsAfter = (mark: string) =>
      lines.filter((line) => line.startsWith(mark)).map((line) => line.slice(1))
    return { sent: idsAfter('+'), acknowledged: idsAfter('=') }
  } finally {
    rmSync(folder, { recursive: true })
  }
}
