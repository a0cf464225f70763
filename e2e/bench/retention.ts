// What appends wait for while old events are removed. Fills a log, then appends a few hundred events a second, in turns
// without and with a removal that runs as in the gateway. The reports are not part of it: they are in another file.
import { randomUUID } from 'node:crypto'
import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { LogEvent } from '../../src/gateway/collect/eventLog.ts'
import { createGroupCommit } from '../../src/gateway/collect/groupCommit.ts'
import { startSweeper } from '../../src/gateway/collect/sweeper.ts'
import { createSqliteLog } from '../../src/gateway/sqlite/eventLog.ts'
import { createSqliteExpiredEvents } from '../../src/gateway/sqlite/expiredEvents.ts'
import { startSqliteThread } from '../../src/gateway/sqlite/thread.ts'
import { line, median } from '../benchPages.ts'
import { makeFolder } from '../gateway.ts'

const EVENTS = 150_000
/** Of ten events one belongs to a customer who keeps its events. */
const KEPT = 10
const ROUNDS = 6
const SLICE_MS = 5_000
/** Time between two appends, ms. */
const EVERY_MS = 3
const DAY_MS = 86_400_000

const folder = makeFolder('bench-retention')
const eventsFile = join(folder, 'events.db')
const workerFile = new URL('../../dist/sqlite-worker.js', import.meta.url)
const thread = await startSqliteThread(eventsFile, workerFile)
const log = createGroupCommit(createSqliteLog(thread))
const now = Date.now()

const makeEvent = (customer: string, receivedAt: number): LogEvent => ({
  customer,
  id: randomUUID(),
  at: receivedAt,
  receivedAt,
  operation: 'viewProduct',
  event: 'view_product',
  did: randomUUID(),
  bot: false,
  version: null,
  payload: JSON.stringify({ url: `https://shop.example/p/12?ref=${'x'.repeat(500)}` }),
})

for (let n = 0; n < EVENTS; n += 500)
  await log.append(
    Array.from({ length: 500 }, (_, i) =>
      makeEvent(i % KEPT === 0 ? 'kept' : 'removed', now - 100 * DAY_MS + n),
    ),
  )

const waits = { without: [] as number[], with: [] as number[] }
let removed = 0
let removing = 0
for (let round = 0; round < ROUNDS; round++) {
  await measure(waits.without)
  const before = removed
  const begun = performance.now()
  const sweeper = startSweeper({
    events: createSqliteExpiredEvents(thread.call),
    retentions: () => [{ customerId: 'removed', days: 30 }],
    beforeRemoval: async () => {},
    now: () => now,
    onRemoved(events) {
      removed += events
    },
    onError(error) {
      throw error
    },
    firstMs: 0,
    pauseMs: 0,
  })
  await measure(waits.with)
  await sweeper.stop()
  if (removed > before) removing += performance.now() - begun
}

async function measure(into: number[]): Promise<void> {
  const until = performance.now() + SLICE_MS
  while (performance.now() < until) {
    const begun = performance.now()
    await log.append([makeEvent('kept', now)])
    into.push(performance.now() - begun)
    await sleep(EVERY_MS)
  }
}

const percentile = (all: readonly number[], share: number): number =>
  [...all].sort((a, b) => a - b)[Math.floor(all.length * share)] ?? 0

console.log(line('appends', 'events', 'p50, ms', 'p99, ms', 'p99.9, ms'))
for (const [name, all] of Object.entries(waits))
  console.log(
    line(
      `${name} removal`,
      all.length,
      median(all).toFixed(2),
      percentile(all, 0.99).toFixed(2),
      percentile(all, 0.999).toFixed(2),
    ),
  )
console.log(line('removed', removed, `${Math.round(removed / (removing / 1_000))} a second`))
console.log(line('size of the log, MB', (statSync(eventsFile).size / 1e6).toFixed(0)))
await log.close()
rmSync(folder, { recursive: true })
