// The cost of a helper's call on the page's main thread, outbox included, compared with one sendBeacon: 1,000 calls in
// one task at 4x CPU throttle, microseconds per call. The ways alternate; the median of the rounds counts.
import { line, median, startBenchPages } from '../benchPages.ts'

const ROUNDS = 9
const CALLS = 1000

const { shop, wire, fresh, end } = await startBenchPages()
const address = shop.page('/a')
const ways = {
  'one sendBeacon': `navigator.sendBeacon('${wire.url}/t/r?k=none', body)`,
  'track.search': "track.search({ search_term: 'term ' + n })",
  'track.addToCart':
    "track.addToCart({ product_id: n + 1, quantity: 1, variation: { id: '12-1', sku: 'MUG-COBALT' } })",
}
const body = JSON.stringify({ search_term: 'x'.repeat(280) })

const times: Record<string, number[]> = {}
for (let round = 0; round < ROUNDS; round++)
  for (const [name, call] of Object.entries(ways)) {
    const { page, close } = await fresh()
    await page.goto(address)
    const ms = await page.evaluate<number>(
      `(() => {
        const body = ${JSON.stringify(body)}
        const start = performance.now()
        for (let n = 0; n < ${CALLS}; n++) ${call}
        return performance.now() - start
      })()`,
    )
    times[name] = [...(times[name] ?? []), (1000 * ms) / CALLS]
    await close()
  }

const baseline = median(times['one sendBeacon'] ?? [])
console.log(line(`4x throttle, ${CALLS} in a task`, 'µs a call', 'of baseline'))
for (const [name, all] of Object.entries(times))
  console.log(line(name, median(all).toFixed(0), (median(all) / baseline).toFixed(2)))
console.log('target: a call at most one sendBeacon')
await end()
