// Requests and bytes for one event and for 100 events in one task, compared with one sendBeacon per event.
import { expect } from '@playwright/test'
import { line, startBenchPages } from '../benchPages.ts'

const { shop, wire, fresh, end } = await startBenchPages()
const address = shop.page('/a')

console.log(line('', 'requests', 'bodies, B', 'headers, B'))
for (const count of [1, 100]) {
  await measure(`${count} by track.search`, count, "track.search({ search_term: 'term ' + n })")
  // The same payload as the script's: any sender must make it.
  await measure(
    `${count} by sendBeacon`,
    count,
    `navigator.sendBeacon('${wire.url}/t/r?k=none&id=x', JSON.stringify({
      did: track.did, event: 'search', search_term: 'term ' + n, url: location.href,
      http_user_agent: navigator.userAgent }))`,
  )
}
console.log('target: 100 events in one task at most 3 requests')
await end()

async function measure(name: string, count: number, call: string): Promise<void> {
  const { page, close } = await fresh()
  await page.goto(address)
  const before = wire.events.length
  await page.evaluate(`(() => { for (let n = 0; n < ${count}; n++) ${call} })()`)
  const requests = () => wire.events.slice(before)
  await expect.poll(() => requests().reduce((sum, { ids }) => sum + ids.length, 0)).toBe(count)
  await expect.poll(() => requests().every(({ outcome }) => outcome !== 'open')).toBe(true)
  const bodies = requests().reduce((sum, { body }) => sum + Buffer.byteLength(body), 0)
  const headers = requests().reduce((sum, seen) => sum + headerBytes(seen.headers), 0)
  console.log(line(name, requests().length, bodies, headers))
  await close()
}

function headerBytes(headers: NodeJS.Dict<string | string[]>): number {
  return Object.entries(headers).reduce(
    (sum, [name, value]) => sum + `${name}: ${value}\r\n`.length,
    0,
  )
}
