// The cost of a page's scripts on its main thread during the load and the two seconds after, at 4x CPU throttle: a page
// with the script compared with a page that calls sendBeacon once, minus a page without either. The pages alternate;
// the median of the rounds counts.
//
// It is the thread's CPU time, from a trace, of everything that runs or compiles script: evaluation, listeners, timers,
// promises, idle callbacks. Layout, network and other programs of the machine are not included. The visitor is new,
// nothing is cached, and work that waits for the page's load is included.
import { setTimeout as sleep } from 'node:timers/promises'
import { line, median, startBenchPages } from '../benchPages.ts'
import { startPlainChromium } from '../plainChromium.ts'

const ROUNDS = 15
const TARGET = 3
const CPU_THROTTLE = 4
const AFTER_LOAD_MS = 2000
/** From this length on a task is a long task (https://www.w3.org/TR/longtasks-1/), ms. */
const LONG_MS = 50
/** Names of trace events that consist of script only. */
const SCRIPT =
  /^(EvaluateScript|v8\.compile|FunctionCall|TimerFire|FireIdleCallback|FireAnimationFrame|EventDispatch|RunMicrotasks)$/

type TraceEvent = {
  readonly name: string
  readonly ph: string
  readonly pid: number
  readonly tid: number
  /** Start and duration by the wall clock, duration in CPU time of the thread; microseconds. */
  readonly ts: number
  readonly dur: number
  readonly tdur?: number
  readonly args: { readonly beginData?: { readonly url?: string } }
}

const { shop, wire, end } = await startBenchPages({ pageViews: 'all' })
const browser = await startPlainChromium()
const beacon = `<script>navigator.sendBeacon('${wire.url}/t/r?k=none','{}')</script>`
const addresses = {
  nothing: shop.page('/nothing', { head: '' }),
  'one sendBeacon': shop.page('/beacon', { head: '', body: beacon }),
  'the script, first page view sent': shop.page('/script', { head: shop.tag('async') }),
}

const times: Record<string, number[]> = {}
const longTasks: Record<string, number> = {}
for (let round = 0; round < ROUNDS; round++)
  for (const [name, address] of Object.entries(addresses)) {
    const stretches = await scriptStretches(address)
    const sum = stretches.reduce((before, ms) => before + ms, 0)
    times[name] = [...(times[name] ?? []), sum]
    longTasks[name] = (longTasks[name] ?? 0) + stretches.filter((ms) => ms >= LONG_MS).length
  }

const of = (name: keyof typeof addresses) => median(times[name] ?? [])
const baseline = of('one sendBeacon') - of('nothing')
console.log(line(`4x throttle, ${ROUNDS} rounds`, 'ms, median', 'of sendBeacon', 'long tasks'))
for (const name of Object.keys(addresses) as (keyof typeof addresses)[]) {
  const net = (of(name) - of('nothing')) / baseline
  console.log(line(name, of(name).toFixed(1), net.toFixed(2), longTasks[name] ?? 0))
}
const source = await (await fetch(shop.script())).text()
console.log(`characters of script to compile: ${source.length}`)
console.log(`target: at most ${TARGET} times one sendBeacon, no long task`)
await browser.close()
await end()

/** Loads a page. @returns CPU time of each uninterrupted stretch of script on its main thread, ms. */
async function scriptStretches(address: string): Promise<number[]> {
  const page = await browser.open()
  const events: TraceEvent[] = []
  page.on<{ value: TraceEvent[] }>('Tracing.dataCollected', ({ value }) => events.push(...value))
  await page.send('Page.enable')
  await page.send('Emulation.setCPUThrottlingRate', { rate: CPU_THROTTLE })
  await page.send('Tracing.start', {
    transferMode: 'ReportEvents',
    // The second category contains promise callbacks that run outside of other script.
    traceConfig: { includedCategories: ['devtools.timeline', 'v8.execute'] },
  })
  const loaded = page.next('Page.loadEventFired')
  await page.send('Page.navigate', { url: address })
  await loaded
  await sleep(AFTER_LOAD_MS)
  const complete = page.next('Tracing.tracingComplete')
  await page.send('Tracing.end')
  await complete
  await page.close()

  const parsed = events.find(({ args }) => args.beginData?.url?.startsWith(address))
  let endOfLast = 0
  return events
    .filter(
      ({ name, ph, pid, tid }) =>
        ph === 'X' && pid === parsed?.pid && tid === parsed.tid && SCRIPT.test(name),
    )
    .sort((a, b) => a.ts - b.ts || b.dur - a.dur)
    .flatMap(({ ts, dur, tdur = 0 }) => {
      // A nested event is already counted.
      if (ts < endOfLast) return []
      endOfLast = ts + dur
      return [tdur / 1000]
    })
}
