import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, request as httpRequest, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest'
import { prepareGateway, send } from '../../test/gateway.ts'
import type { Gateway } from '../index.ts'
import { createSqliteCustomers } from '../sqlite/customers.ts'
import { openDatabase } from '../sqlite/database.ts'
import { createMirrorRows } from '../sqlite/mirrorRows.ts'
import { askDoctor } from './askDoctor.ts'
import { checkPublicUrl } from './checkPublicUrl.ts'
import { type Checked, examine, examineNetwork } from './doctor.ts'
import { leaveNonce } from './nonce.ts'

const probeFile = pathToFileURL(join(inject('gatewayBundles'), 'doctor-probe.js'))

let prepared: Awaited<ReturnType<typeof prepareGateway>>
let gateway: Gateway
let dataDir: string
beforeAll(async () => {
  prepared = await prepareGateway()
  dataDir = join(prepared.folder, 'data')
  gateway = await prepared.start({ trustedProxies: ['127.0.0.9'] })
  gateway.customers.add({ trackingKey: 'OWNKEY12', origins: ['https://shop.example'] })
})
afterAll(() => prepared.end())

const servers: Server[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})

async function serve(server: Server): Promise<number> {
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

/** A port that nothing listens on. */
async function freePort(): Promise<number> {
  const port = await serve(createServer())
  await new Promise((resolve) => servers.pop()?.close(resolve))
  return port
}

type ProxyOptions = {
  /** Its own address, one of 127.0.0.0/8. */
  readonly from?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Begin of the path that it removes. */
  readonly strip?: string
  /** Port of the gateway. */
  readonly to?: number | undefined
}

/** A proxy of HTTP in front of the gateway. */
const proxy =
  ({
    from = '127.0.0.9',
    headers = {},
    strip = '',
    to = gateway.port,
  }: ProxyOptions = {}): RequestListener =>
  (request, response) => {
    const path = request.url ?? ''
    const passed = httpRequest({
      port: to,
      host: '127.0.0.1',
      localAddress: from,
      method: request.method,
      path: path.startsWith(strip) ? path.slice(strip.length) : path,
      headers: { ...request.headers, ...headers },
      agent: false,
    })
    passed.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 0, answer.headers)
      answer.pipe(response)
    })
    request.pipe(passed)
  }

const FORWARDED = { 'x-forwarded-for': '203.0.113.7' }

/** The findings of some checks, as `level message`. */
async function findingsOf(checks: readonly string[], changed: Partial<Checked> = {}) {
  const settings: Checked = {
    dataDir,
    host: '127.0.0.1',
    port: gateway.port,
    metricsPort: undefined,
    publicUrl: undefined,
    trustedProxies: ['127.0.0.9'],
    maxConnections: undefined,
    maxHeaderBytes: 2 ** 16,
    bodyBudgetBytes: 2 ** 25,
    diskReserveBytes: 0,
    ...changed,
  }
  const findings = checks.includes('folder')
    ? await examine(settings, probeFile)
    : await examineNetwork(settings, true)
  return findings
    .filter(({ check }) => checks.includes(check))
    .map(({ level, message, fix }) => [`${level} ${message}`, ...fix].join('\n'))
}

const publicFindings = (publicUrl: string, changed: Partial<Checked> = {}) =>
  findingsOf(['public url', 'proxy'], { publicUrl, ...changed })

test('an installation that runs has no errors, and every check has a finding', async () => {
  const port = await serve(createServer(proxy({ headers: FORWARDED })))
  const settings = { publicUrl: `http://127.0.0.1:${port}` }
  const findings = await examine(
    {
      dataDir,
      host: '0.0.0.0',
      port: gateway.port,
      metricsPort: 1,
      trustedProxies: ['127.0.0.9'],
      maxConnections: 500,
      maxHeaderBytes: 2 ** 16,
      bodyBudgetBytes: 2 ** 25,
      diskReserveBytes: 0,
      ...settings,
    },
    probeFile,
  )
  expect(findings.filter(({ level }) => level === 'error')).toEqual([])
  expect([...new Set(findings.map(({ check }) => check))]).toEqual([
    'versions',
    'memory',
    'files',
    'folder',
    'disk',
    'file system',
    'databases',
    'space',
    'clock',
    'port',
    'public url',
    'proxy',
  ])
  const messages = findings.map(({ message }) => message).join('\n')
  expect(messages).toMatch(/50 syncs of the disk: p50 [\d.]+ ms, p99 [\d.]+ ms/)
  expect(messages).toContain('customers.db, events.db')
  expect(messages).toContain('A lock keeps a second process away')
  expect(messages).toContain(
    'The proxy at 127.0.0.9 is believed: this request came from 203.0.113.7',
  )
})

test.each([
  [
    'whose address is not in TRUSTED_PROXIES',
    { from: '127.0.0.8', headers: FORWARDED },
    /^error The proxy at 127\.0\.0\.8 sends headers .*not believed(.|\n)*TRUSTED_PROXIES=127\.0\.0\.9,127\.0\.0\.8$/,
  ],
  [
    'that sends no X-Forwarded-For',
    {},
    /^error The proxy at 127\.0\.0\.9 sends no X-Forwarded-For/,
  ],
])('a proxy %s is an error', async (_, options, expected) => {
  const port = await serve(createServer(proxy(options)))
  expect(await publicFindings(`http://127.0.0.1:${port}`)).toEqual([
    expect.stringMatching(/^ok PUBLIC_URL .* is this gateway$/),
    expect.stringMatching(expected),
  ])
})

test('a proxy that only the settings since the start name needs a restart', async () => {
  const port = await serve(createServer(proxy({ from: '127.0.0.8', headers: FORWARDED })))
  const trustedProxies = ['127.0.0.0/8']
  expect((await publicFindings(`http://127.0.0.1:${port}`, { trustedProxies })).at(-1)).toMatch(
    /^error The gateway does not believe the proxy at 127\.0\.0\.8, though .*\nRestart the gateway/,
  )
})

test('a proxy that does not name the scheme and the host is a warning', async () => {
  const headers = { ...FORWARDED, host: 'inner:1' }
  const port = await serve(createServer(proxy({ headers })))
  expect((await publicFindings(`http://127.0.0.1:${port}`)).at(-1)).toMatch(
    /^warning The gateway was asked for http:\/\/inner:1, not for /,
  )
})

test('a path that the proxy does not remove is told apart from one that it does', async () => {
  const options = { headers: FORWARDED }
  const removing = await serve(createServer(proxy({ ...options, strip: '/st' })))
  expect((await publicFindings(`http://127.0.0.1:${removing}/st`))[0]).toMatch(/^ok /)
  const passing = await serve(createServer(proxy(options)))
  expect(await publicFindings(`http://127.0.0.1:${passing}/st`)).toEqual([
    expect.stringMatching(/^error A gateway answers .* below \/st: the proxy does not remove/),
  ])
})

test('a redirect, another program, another gateway and a proxy without gateway are told apart', async () => {
  const other = await prepared.start({ dataDir: join(prepared.folder, 'other') })
  const answers: [RequestListener, RegExp][] = [
    [
      (request, response) =>
        response.writeHead(308, { location: `https://shop.example${request.url}` }).end(),
      /redirects to https:\/\/shop\.example\. Browsers/,
    ],
    [
      (_, response) => response.writeHead(200, { server: 'shop' }).end('<html>'),
      /is not this gateway: something else \(shop\) answers 200/,
    ],
    [(_, response) => response.writeHead(502).end(), /does not reach the gateway \(502\)/],
  ]
  for (const [listener, expected] of answers) {
    const port = await serve(createServer(listener))
    const found = await publicFindings(`http://127.0.0.1:${port}`)
    expect(found).toEqual([expect.stringMatching(expected)])
    expect(found[0]).toMatch(/^error /)
    // The nonce is a secret while doctor runs.
    expect(found[0]).not.toContain('nonce')
  }
  expect(await publicFindings(other.url)).toEqual([
    expect.stringMatching(/^error .* is a gateway of another data folder/),
  ])
  expect(await findingsOf(['port'], { port: other.port })).toEqual([
    expect.stringMatching(/^error PORT \d+ of 127\.0\.0\.1 is used by a gateway of another/),
  ])
})

test('on a cluster, a balancer in front of several gateways is not a mistake', async () => {
  const other = await prepared.start({ dataDir: join(prepared.folder, 'balanced') })
  const cluster = { servers: ['127.0.0.1:9'] }
  const to = [other.port, other.port, gateway.port]
  let asked = 0
  const port = await serve(
    createServer((request, response) =>
      proxy({ headers: FORWARDED, to: to[asked++ % to.length] })(request, response),
    ),
  )
  const url = `http://127.0.0.1:${port}`
  expect(await publicFindings(url, { cluster })).toEqual([
    `ok PUBLIC_URL ${url} is this gateway`,
    expect.stringMatching(/^ok The proxy at 127\.0\.0\.9 is believed/),
  ])
  expect(await publicFindings(other.url, { cluster })).toEqual([
    expect.stringMatching(/^note .* as it may be on a cluster.*\nThe balancer has sent no request/),
  ])
  // A follower has a folder, and no gateway.
  const follower = { cluster, dataDir: mkdtempSync(join(prepared.folder, 'follower-')) }
  expect(await publicFindings(other.url, { ...follower, port: await freePort() })).toEqual([
    expect.stringMatching(/^note .* as it may be on a cluster.*\nRun doctor with .* of a gateway/),
  ])
})

test('a copy of a cluster is not taken for databases of SQLite', async () => {
  const copy = mkdtempSync(join(prepared.folder, 'copy-'))
  const file = join(copy, 'customers.db')
  createSqliteCustomers(file).close()
  const database = openDatabase(file)
  createMirrorRows(database, [{ table: 'customers', key: ['customer_id'] }])
  database.close()
  const found = await findingsOf(['folder', 'databases'], { dataDir: copy })
  expect(found).toContainEqual(
    expect.stringMatching(/^error .*customers\.db is a gateway's copy of a cluster.*\nSet ENGINE/),
  )
})

test('no name, no connection, no TLS and an invalid certificate are told apart', async () => {
  const plain = await serve(createServer(proxy()))
  const [keyFile, certFile] = ['key', 'cert'].map((name) => join(prepared.folder, `${name}.pem`))
  execFileSync(
    'openssl',
    [
      ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1'],
      ...['-subj', '/CN=localhost', '-keyout', keyFile as string, '-out', certFile as string],
    ],
    { stdio: 'ignore' },
  )
  const [key, cert] = [keyFile, certFile].map((file) => readFileSync(file as string))
  const tls = await serve(createTlsServer({ key, cert }, proxy()) as unknown as Server)
  for (const [publicUrl, expected] of [
    ['https://no-such-name.invalid', /^error The name no-such-name\.invalid of PUBLIC_URL/],
    [`http://127.0.0.1:${await freePort()}`, /^error PUBLIC_URL .* refuses connections/],
    [`https://127.0.0.1:${plain}`, /^error PUBLIC_URL .* does not speak TLS/],
    [`https://127.0.0.1:${tls}`, /^error The certificate of .* \(DEPTH_ZERO_SELF_SIGNED_CERT\)/],
  ] as const)
    expect(await publicFindings(publicUrl)).toEqual([expect.stringMatching(expected)])
}, 120_000)

test('only the start of an answer without end is read', async () => {
  const port = await serve(
    createServer((_, response) => {
      const piece = Buffer.alloc(65_536)
      const go = () => {
        while (response.write(piece));
      }
      response.on('drain', go)
      go()
    }),
  )
  expect(await publicFindings(`http://127.0.0.1:${port}`)).toEqual([
    expect.stringMatching(/^error PUBLIC_URL .* something else answers 200/),
  ])
})

test('an address that does not answer in time is told apart', async () => {
  const port = await serve(createServer(() => {}))
  const publicUrl = `http://127.0.0.1:${port}`
  const asked = await askDoctor(publicUrl, '', 50)
  expect(asked).toMatchObject({ kind: 'failed', code: 'TIMEOUT' })
  expect(checkPublicUrl(publicUrl, asked, true)[0]?.message).toMatch(/ does not answer in 5 s$/)
})

test('a gateway that waits for its data is not ready', async () => {
  const waiting = join(prepared.folder, 'waiting')
  const first = await prepared.start({ dataDir: waiting })
  await first.close()
  rmSync(join(waiting, 'events.db'))
  const { port } = await prepared.start({ dataDir: waiting })
  expect(await findingsOf(['port'], { port, dataDir: waiting })).toEqual([
    expect.stringMatching(
      /^error The gateway on PORT \d+ .* does not answer: events\.db is missing/,
    ),
  ])
})

test('a port without a gateway is free or used by another program', async () => {
  const port = await serve(createServer((_, response) => response.end('shop')))
  expect(await findingsOf(['port', 'metrics port'], { port, metricsPort: port })).toEqual([
    expect.stringMatching(/^error PORT \d+ .* used by another program, which answers 200/),
    expect.stringMatching(/^error METRICS_PORT \d+ .* is used by another program/),
  ])
  await new Promise((resolve) => servers.pop()?.close(resolve))
  expect(await findingsOf(['port', 'metrics port'], { port, metricsPort: port })).toEqual([
    expect.stringMatching(/^note PORT \d+ of 127\.0\.0\.1 is free: no gateway is running/),
    expect.stringMatching(/^note METRICS_PORT \d+ of 127\.0\.0\.1 is free/),
  ])
  expect(await findingsOf(['port'], { port, host: '203.0.113.1' })).toEqual([
    expect.stringMatching(/^error HOST 203\.0\.113\.1 is not an address of this machine/),
  ])
})

test('strangers learn nothing from the path of doctor, and nothing stays in the folder', async () => {
  const ask = (query: string) => send(gateway.url, `/t/doctor${query}`)
  const nothing = await send(gateway.url, '/t/nothing')
  for (const query of ['', '?nonce=', `?nonce=${'0'.repeat(64)}`, '?nonce=../customers.db']) {
    const { status, text } = await ask(query)
    expect([status, text]).toEqual([404, nothing.text])
  }
  const { nonce, remove } = leaveNonce(dataDir)
  expect((await ask(`?nonce=${nonce}`)).status).toBe(200)
  remove()
  expect((await ask(`?nonce=${nonce}`)).status).toBe(404)
  await findingsOf([])
  expect(execFileSync('ls', [dataDir], { encoding: 'utf8' })).not.toContain('doctor')
})

test('without a folder doctor checks the rest', async () => {
  const missing = join(prepared.folder, 'missing/data')
  const findings = await findingsOf(['folder', 'databases', 'port'], { dataDir: missing })
  expect(findings).toEqual([
    expect.stringMatching(/^note DATA_DIR .* does not exist. The first start creates it/),
    expect.stringMatching(/used by a gateway of another data folder/),
  ])
  rmSync(join(prepared.folder, 'missing'), { recursive: true, force: true })
})
