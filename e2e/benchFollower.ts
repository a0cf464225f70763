import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { toCells } from '../src/gateway/sqlite/cells.ts'
import { openReportStore } from '../src/gateway/sqlite/reportStore.ts'
import { openStore } from '../src/gateway/sqlite/store.ts'
import { createEvents, makeCampaign } from './benchEvents.ts'
import { line } from './benchPages.ts'
import { makeFolder } from './gateway.ts'

/** Events a transaction, as in reportWorker.ts. */
const SLICE = 5_000
const CUSTOMERS = 50

/**
 * Follows logs of events in random order of their devices, in turns with a fixed piece of work: parsing the payloads of
 * as many events.
 */
export function measureFollower(events: number): void {
  const folder = makeFolder('follower')
  const cases = [
    { name: 'customers without a campaign', visitors: 0.3, campaigns: 0, target: 5 },
    { name: 'devices without a visit', visitors: 0, campaigns: CUSTOMERS, target: 5 },
    { name: 'three of ten devices visit', visitors: 0.3, campaigns: CUSTOMERS, target: undefined },
    { name: 'every device visits', visitors: 1, campaigns: CUSTOMERS, target: 15 },
  ].map((given, i) => {
    const paths = {
      eventsFile: join(folder, `events-${i}.db`),
      reportsFile: join(folder, `reports-${i}.db`),
    }
    const next = createEvents({
      customers: CUSTOMERS,
      devices: events / 4,
      visitors: given.visitors,
    })
    const log = openStore(paths.eventsFile)
    const start = Date.now() - 30 * 86_400_000
    for (let n = 0; n < events; n += 2_000) {
      const at = (k: number) => Math.round(start + ((n + k) / events) * 30 * 86_400_000)
      log.append(toCells(Array.from({ length: 2_000 }, (_, k) => next(at(k)))))
    }
    for (let n = 0; n < given.campaigns; n++) log.createCampaign(makeCampaign(`customer-${n}`, 0))
    const payloads = log.read({ max: SLICE }).map(({ payload }) => payload)
    log.close()
    return { ...given, payloads, reports: openReportStore(paths), spent: 0, bare: 0 }
  })
  for (let n = 0; n < events; n += SLICE)
    for (const one of cases) {
      one.spent += processorTime(() => one.reports.follow(SLICE))
      one.bare += processorTime(() => one.payloads.map((payload) => JSON.parse(payload)))
    }
  console.log(`\n${events} events of ${events / 4} devices of ${CUSTOMERS} customers, mixed`)
  const bare = cases.reduce((sum, one) => sum + one.bare, 0) / cases.length / events
  console.log(line('follower, CPU an event', 'µs', '/ JSON.parse', 'target, µs', ''))
  for (const { name, spent, target, reports } of cases) {
    const cpu = spent / events
    const verdict = target === undefined ? '' : cpu <= target ? 'kept' : 'MISSED'
    console.log(line(name, cpu.toFixed(1), (cpu / bare).toFixed(1), target ?? '', verdict))
    reports.close()
  }
  console.log(line('(JSON.parse of a payload)', bare.toFixed(1)))
  rmSync(folder, { recursive: true })
}

/** Processor time of all threads, µs. */
function processorTime(work: () => unknown): number {
  const begun = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(begun)
  return user + system
}
