// Main-thread time of a page's load and start at 4x CPU throttle, ms: without anything, with one
// sendBeacon (the baseline), with the script. Interleaved, the median of the rounds.
import { line, median, startBenchPages } from '../benchPages.ts'

const ROUNDS = 15
const TARGET = 2

const { shop, wire, fresh, end } = await startBenchPages()
const LONG = `<script>long=0;new PerformanceObserver(l=>{long+=l.getEntries().length}).observe({type:'longtask',buffered:true})</script>`
const beacon = `<script>navigator.sendBeacon('${wire.url}/t/r?k=none','{}')</script>`
const addresses = {
  nothing: shop.page('/nothing', { head: LONG }),
  'one sendBeacon': shop.page('/beacon', { head: LONG, body: beacon }),
  'the script': shop.page('/script', { head: LONG + shop.tag('async') }),
  'the script and one event': shop.page('/event', {
    head: LONG + shop.tag(),
    body: '<script>track.viewHomepage()</script>',
  }),
}

const times: Record<string, number[]> = {}
const longTasks: Record<string, number> = {}
for (let round = 0; round < ROUNDS; round++)
  for (const [name, address] of Object.entries(addresses)) {
    const { page, session, close } = await fresh()
    await session.send('Performance.enable', { timeDomain: 'threadTicks' })
    const before = await taskMs()
    await page.goto(address, { waitUntil: 'load' })
    await page.waitForTimeout(400)
    const spent = (await taskMs()) - before
    times[name] = [...(times[name] ?? []), spent]
    longTasks[name] = (longTasks[name] ?? 0) + Number(await page.evaluate('long'))
    await close()

    async function taskMs(): Promise<number> {
      const { metrics } = await session.send('Performance.getMetrics')
      return 1000 * (metrics.find(({ name: metric }) => metric === 'TaskDuration')?.value ?? 0)
    }
  }

const baseline = median(times['one sendBeacon'] ?? [])
console.log(line(`4x throttle, ${ROUNDS} rounds`, 'ms, median', 'of baseline', 'long tasks'))
for (const [name, all] of Object.entries(times))
  console.log(
    line(name, median(all).toFixed(1), (median(all) / baseline).toFixed(2), longTasks[name] ?? 0),
  )
console.log(`target: the script at most ${TARGET} times the baseline, no long task`)
await end()
