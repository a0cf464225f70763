import { rmSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, expect, test, vi } from 'vitest'
import { layOutGateway, send, startProcess } from '../../test/gateway.ts'

/**
 * The target is 300 MB. The peak was 260 to 326 MB in eight runs on a quiet machine: it depends on when V8 collects what
 * the first seconds of the attacks leave. Without the budget of bodies (1 GiB in its place) it was 775 MB.
 */
const MAX_MEMORY_MB = 400

const folder = layOutGateway()
const attackers: Socket[] = []
afterAll(() => {
  for (const socket of attackers) socket.destroy()
  rmSync(folder, { recursive: true, force: true })
})

const head = (method: string, target: string, header = '') =>
  `${method} ${target} HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n${header}\r\n`
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`
const BATCH = '/t/batch?k=DEMOSHOP'
const CHUNKED = 'Transfer-Encoding: chunked\r\n'
const HEADERS = Array.from({ length: 90 }, (_, i) => `X-${i}: ${'x'.repeat(650)}\r\n`).join('')
const batch = JSON.stringify({ events: Array(400).fill({ payload: { x: 'y'.repeat(2_000) } }) })

/**
 * The attacks: the number of connections, the bytes that each sends first, the bytes that it repeats, and how often. No
 * connection reads.
 */
const ATTACKS: readonly (readonly [
  connections: number,
  first: string,
  more: string,
  times: number,
])[] = [
  // Bodies that never end.
  [300, head('POST', BATCH, `Content-Length: ${2 ** 20}\r\n`), 'x'.repeat(65_000), 16],
  [300, head('POST', BATCH, CHUNKED), chunk('x'.repeat(65_000)), 16],
  [50, head('POST', '/t/r?k=DEMOSHOP', CHUNKED), chunk('x').repeat(1_000), 100],
  [
    1_000,
    head('POST', '/t/r?k=DEMOSHOP', `${HEADERS}Content-Length: 16000\r\n`),
    'x'.repeat(15_000),
    1,
  ],
  // Answers that are not read.
  [50, '', head('GET', '/t/j/DEMOSHOP').repeat(50), 100],
  [50, '', head('GET', '/live/large.png').repeat(50), 100],
  [30, '', 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(2_400), 4],
  [10, '', head('POST', BATCH, `Content-Length: ${batch.length}\r\n`) + batch, 8],
  // Chunks of one byte behind a request.
  [50, head('GET', '/t/j/DEMOSHOP') + head('POST', '/t/r', CHUNKED), chunk('x').repeat(1_000), 20],
  // Heads that never end, and connections that send nothing.
  [150, 'GET / HTTP/1.1\r\nHost: a\r\n', 'a: b\r\n'.repeat(10_000), 1],
  [150, 'GET / HTTP/1.1\r\nHost: a\r\n', `X: ${'x'.repeat(65_000)}`, 1],
  [200, '', '', 0],
]

async function attack(port: number): Promise<void> {
  for (const [connections, first, more, times] of ATTACKS)
    for (let i = 0; i < connections; i++) {
      // Several addresses, since the gateway limits each address.
      const localAddress = `127.0.${1 + (attackers.length >> 6)}.${1 + (attackers.length % 64)}`
      const socket = connect({ port, host: '127.0.0.1', localAddress })
      attackers.push(socket)
      socket.on('error', () => {})
      socket.pause()
      let left = times
      const go = () => {
        while (left-- > 0 && !socket.destroyed) if (!socket.write(more)) return
      }
      socket.on('drain', go)
      socket.once('connect', () => socket.write(first))
      socket.once('connect', go)
      if (i % 50 === 0) await new Promise(setImmediate)
    }
}

test(`memory stays below ${MAX_MEMORY_MB} MB under all attacks together, and a visitor is still served`, async () => {
  writeFileSync(join(folder, 'dist/public/live/large.png'), Buffer.alloc(170_000))
  // The process prints its peak memory when it ends.
  const reporter = join(folder, 'reporter.mjs')
  writeFileSync(
    reporter,
    `import { isMainThread } from 'node:worker_threads'
     if (isMainThread) process.on('exit', () => console.log('peak', process.resourceUsage().maxRSS))`,
  )
  const NODE_OPTIONS = `--import=${pathToFileURL(reporter)}`
  const gateway = await startProcess(folder, { NODE_OPTIONS, LOG_LEVEL: 'silent' })
  const port = Number(new URL(gateway.url).port)
  await attack(port)
  const written = () => attackers.reduce((sum, { bytesWritten }) => sum + bytesWritten, 0)
  let before = -1
  await vi.waitFor(
    () => {
      const now = written()
      const isQuiet = now === before
      before = now
      expect(isQuiet).toBe(true)
    },
    { timeout: 60_000, interval: 500 },
  )
  const payload = { did: 'd-1', event: 'view_homepage', url: gateway.url, http_user_agent: 'UA/1' }
  const visit = () =>
    send(`http://127.0.0.1:${port}`, '/t/r?k=DEMOSHOP', {
      method: 'POST',
      headers: { origin: gateway.url },
      body: JSON.stringify(payload),
      peer: '127.200.0.1',
    })
  await vi.waitFor(async () => expect((await visit()).status).toBe(200), { timeout: 60_000 })
  for (const socket of attackers) socket.destroy()
  await gateway.end('SIGTERM')
  const peak = Number(/^peak (\d+)$/m.exec(gateway.output())?.[1]) / 1_024
  expect(peak).toBeGreaterThan(50)
  expect(peak).toBeLessThan(MAX_MEMORY_MB)
}, 180_000)
