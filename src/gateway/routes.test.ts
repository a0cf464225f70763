import { afterAll, beforeAll, expect, test } from 'vitest'
import { prepareGateway, send } from '../test/gateway.ts'
import type { Gateway } from './gateway.ts'

let prepared: Awaited<ReturnType<typeof prepareGateway>>
let gateways: Gateway[]
beforeAll(async () => {
  prepared = await prepareGateway()
  const dataDirs = ['demo', 'behind'].map((name) => `${prepared.folder}/${name}`)
  gateways = await Promise.all([
    prepared.start({ dataDir: dataDirs[0] as string, demo: true }),
    prepared.start({ dataDir: dataDirs[1] as string, trustedProxies: ['127.0.0.1'] }),
  ])
})
afterAll(() => prepared.end())

const FORGED = {
  host: 'evil.example',
  'x-forwarded-host': 'evil.example',
  'x-forwarded-proto': 'https',
  'x-forwarded-prefix': '/evil.example',
  forwarded: 'host=evil.example;proto=https',
  origin: 'https://evil.example',
  referer: 'https://evil.example/',
  'x-original-url': '/evil.example',
  'user-agent': 'evil.example',
}
const PUBLIC = [
  '/',
  '/shop',
  '/shop/',
  '/live',
  '/live/',
  '/campaigns',
  '/campaigns/page.js',
  '/people/',
  '/forward/',
]
const BESIDE = [
  '/livez',
  '/readyz',
  '/metrics',
  '/t/j/DEMOSHOP',
  '/t/j/NOTHING1',
  '/t/i.js',
  '/t/p.js',
]
const MISSING = ['/nothing', '/t/nothing', '/shop/nothing', '/live//evil.example', '//evil.example']

test.each([...PUBLIC, ...BESIDE, ...MISSING])(
  'GET %s answers the same, whatever headers a stranger sends',
  async (path) => {
    for (const { url } of gateways) {
      const [plain, forged] = [await send(url, path), await send(url, path, { headers: FORGED })]
      expect(forged.status).toBe(plain.status)
      expect(forged.bytes.equals(plain.bytes)).toBe(true)
      expect({ ...forged.headers, date: '' }).toEqual({ ...plain.headers, date: '' })
      expect(JSON.stringify(forged.headers)).not.toContain('evil')
    }
  },
)

test.each(
  ['GET', 'POST', 'DELETE'].flatMap((method) =>
    [...PUBLIC, ...BESIDE, ...MISSING, '/t/r', '/t/batch', '/live/customers', '/api/v1/x'].map(
      (path) => [method, path] as const,
    ),
  ),
)('no cache keeps an error of %s %s', async (method, path) => {
  for (const { url } of gateways) {
    const { status, headers } = await send(url, path, { method })
    if (status >= 400) expect(headers['cache-control']).toBe('no-store')
    else expect(status).toBeLessThan(304)
  }
})
