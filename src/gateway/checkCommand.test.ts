import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runCommand } from '../test/command.ts'
import { layOutGateway, prepareGateway } from '../test/gateway.ts'
import { runCommandLine } from './cli.ts'
import type { Gateway } from './index.ts'

let prepared: Awaited<ReturnType<typeof prepareGateway>>
let gateway: Gateway
const servers: Server[] = []

beforeAll(async () => {
  prepared = await prepareGateway()
  gateway = await prepared.start()
  gateway.customers.add({ trackingKey: 'LOOPBACK', origins: ['loopback'] })
  gateway.customers.add({ trackingKey: 'ELSEWHERE', origins: ['https://shop.example'] })
})
afterAll(async () => {
  for (const server of servers) server.close()
  await prepared.end()
})

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const serveHtml = (html: string) =>
  serve((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end(html))

const tagOf = (key: string) => `<script async src="${gateway.url}/t/j/${key}"></script>`

async function check(args: readonly string[], env: Record<string, string> = {}) {
  const { work } = runCommandLine(['check', ...args], env)
  if (!work) throw new Error('Nothing to wait for')
  const { code, lines } = await work()
  return { code, text: lines.join('\n') }
}

test('a shop without a fault: what is there, and exit code 0', async () => {
  const shop = await serveHtml(tagOf('LOOPBACK'))
  const { code, text } = await check([shop])
  expect(code).toBe(0)
  expect(text).toContain(
    `key      LOOPBACK\ngateway  ${gateway.url}\npages    home     200  ${shop}/\n`,
  )
  expect(text).toMatch(/\nok {7}The script answers: \d+\.\d kB \(br\)\.\n/)
  expect(text).toContain(`Pages of ${shop} may send events with the key.`)
  expect(text).toContain('The tag is there, for the key LOOPBACK of')
  expect(text).toMatch(/\n0 errors, 0 warnings, 0 notes\.$/)
})

test('a shop with a fault: the error with its fix, and exit code 1', async () => {
  const shop = await serveHtml(tagOf('ELSEWHERE'))
  const { code, text } = await check([shop])
  expect(code).toBe(1)
  expect(text).toContain(`ERROR    Pages of ${shop} may not send events with the key`)
  expect(text).toContain(`\n    npx shoptrail customer set ID --origin ${shop}\n`)
  expect(text).toMatch(/\n1 error, 0 warnings, 0 notes\.$/)
})

test('the key and the gateway of the options, and a finding of only some pages', async () => {
  const shop = await serve((request, response) => {
    const html = request.url === '/' ? '<a href="/cart">cart</a>' : tagOf('LOOPBACK')
    response.writeHead(200, { 'content-type': 'text/html' }).end(html)
  })
  const { text } = await check([shop, '--key', 'ELSEWHERE', '--gateway', `${gateway.url}/`])
  expect(text).toContain(
    `ERROR    The tag is not there.\n  on ${shop}/\n    ${tagOf('ELSEWHERE')}\n`,
  )
  expect(text).toContain(
    `ERROR    The tag is there, but for the key LOOPBACK instead of ELSEWHERE.\n  on ${shop}/cart\n`,
  )
  const { text: public_ } = await check([shop, '--key', 'LOOPBACK'], { PUBLIC_URL: gateway.url })
  expect(public_).toContain(tagOf('LOOPBACK'))
})

test('a page that can not be read is named, and the others are not', async () => {
  const shop = await serve((request, response) => {
    response.statusCode = request.url === '/' ? 200 : 403
    response.setHeader('content-type', 'text/html')
    response.end(`<a href="/cart">cart</a>${tagOf('LOOPBACK')}`)
  })
  const { code, text } = await check([shop])
  expect(code).toBe(0)
  expect(text).toContain(`cart     403  ${shop}/cart\n`)
  expect(text).toMatch(new RegExp(`note {5}The page is answered 403\\..*\n  on ${shop}/cart\n`))
  expect(text).not.toContain(`  on ${shop}/\n`)
})

test('a shop that can not be reached: exit code 69', async () => {
  const { code, text } = await check(['http://127.0.0.1:1/'])
  expect(code).toBe(69)
  expect(text).toContain('The page can not be read: Nothing listens at this address.')
})

test('JSON for machines, also of a page with characters that a terminal executes', async () => {
  const shop = await serveHtml(
    `<meta name=generator content="\u001b[31m\u202e">${tagOf('LOOPBACK')}`,
  )
  const { code, text } = await check([shop, '--json'])
  expect(code).toBe(0)
  for (const unsafe of ['\u001b', '\u202e']) expect(text).not.toContain(unsafe)
  const report = JSON.parse(text)
  expect(report).toMatchObject({ key: 'LOOPBACK', gateway: gateway.url, shop: `${shop}/` })
  expect(
    report.findings.find(({ code }: { code: string }) => code === 'generator').message,
  ).toContain('\u001b[31m\u202e')
})

test.each<[string[], string]>([
  [[], 'Expected the address of the shop: check https://shop.example'],
  [['https://a.example', 'https://b.example'], 'check takes no https://b.example.'],
  [['https://a.example', '--key', 'x'], 'Expected --key with a tracking key'],
  [['https://a.example', '--gateway', 'x'], 'Expected --gateway as an http or https address'],
  [['https://a.example', '--keep'], 'check takes no --keep.'],
])('check %j is refused', (args, message) => {
  const { status, stderr } = runCommand(['check', ...args], {})
  expect(status).toBe(64)
  expect(stderr).toContain(message)
})

test('the process prints the result and has its exit code', async () => {
  const folder = layOutGateway()
  const shop = await serveHtml('<p>no tag')
  // Not in this process, which serves the shop.
  const { code, stdout } = await new Promise<{ code: unknown; stdout: string }>((resolve) =>
    execFile(
      process.execPath,
      [join(folder, 'dist/shoptrail.js'), 'check', shop],
      { env: {} },
      (error, stdout) => resolve({ code: error?.code ?? 0, stdout }),
    ),
  )
  rmSync(folder, { recursive: true })
  expect(code).toBe(1)
  expect(stdout).toContain('ERROR    The tag is not there.')
})
