import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bundleGateway, COMMAND, type GatewayProcess, send, startProcess } from '../test/gateway.ts'

let folder: string
let running: GatewayProcess

beforeAll(async () => {
  folder = await bundleGateway(COMMAND)
  running = await startProcess(folder)
})
afterAll(async () => {
  running.process.kill('SIGKILL')
  rmSync(folder, { recursive: true })
})

const run = (args: readonly string[], env: Record<string, string> = {}) => {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(folder, 'dist/shoptrail.js'), ...args],
    { env: { DATA_DIR: join(folder, 'data'), ...env }, encoding: 'utf8' },
  )
  return { status, stdout, stderr }
}

const fieldOf = (name: string, text: string) => new RegExp(`${name} +(\\S+)`).exec(text)?.[1] ?? ''

test('a start with the demo says where everything is, and the demo’s key once', () => {
  const said = running.said()
  expect(said).toContain(`${running.url}/shop/`)
  expect(said).toContain(`${running.url}/live/`)
  expect(said).toContain(`<script async src="${running.url}/t/j/DEMOSHOP"></script>`)
  expect(fieldOf('REST key', said)).toMatch(/^[\w-]{43}$/)
})

test('a customer that is added, changed and removed is seen by a running gateway', async () => {
  const added = run(['customer', 'add', '--origin', 'https://Shop.example/', '--name', 'A shop'])
  expect(added.status).toBe(0)
  const id = fieldOf('customerId', added.stdout)
  const trackingKey = fieldOf('trackingKey', added.stdout)
  const restKey = fieldOf('restKey', added.stdout)
  const statusOf = async (key: string) => (await send(running.url, `/t/j/${key}`)).status
  expect(await statusOf(trackingKey)).toBe(200)

  const listed = run(['customer', 'list']).stdout
  expect(listed).toContain(`${id} (A shop)`)
  expect(listed).toContain('https://shop.example')
  expect(listed).not.toContain(restKey)

  const set = run(['customer', 'set', id, '--config', '{"source":"set"}', '--origin', 'loopback'])
  expect(set.stdout).toContain('{"source":"set"}')
  expect(set.stdout).toContain('A shop')

  const rest = fieldOf('restKey', run(['customer', 'rotate', id, '--key', 'rest']).stdout)
  expect(rest).toMatch(/^[\w-]{43}$/)
  expect(rest).not.toBe(restKey)
  const tracking = run(['customer', 'rotate', id, '--key', 'tracking'])
  expect(await statusOf(fieldOf('trackingKey', tracking.stdout))).toBe(200)

  expect(run(['customer', 'remove', id]).status).toBe(0)
  expect(run(['customer', 'remove', id])).toMatchObject({
    status: 1,
    stderr: `There is no customer ${id}\n`,
  })
})

test('an id of one’s own is taken once', () => {
  const args = ['customer', 'add', '--id', 'my-shop', '--origin', 'https://shop.example']
  expect(run(args).stdout).toContain('my-shop')
  expect(run(args)).toMatchObject({ status: 1, stderr: 'The customer my-shop exists\n' })
})

test.each<[string[], string]>([
  [[], ''],
  [['frobnicate'], 'There is no command frobnicate'],
  [['start', 'now'], 'There is no command start now'],
  [['customer'], 'There is no command customer'],
  [['customer', 'frobnicate'], 'There is no command customer frobnicate'],
  [['customer', 'add'], 'Which pages may send events?'],
  [['customer', 'add', 'x', '--origin', 'loopback'], 'takes no x'],
  [['customer', 'add', '--origin', 'shop.example'], 'shop.example is no origin'],
  [['customer', 'add', '--origin', 'loopback', '--id', 'a b'], 'Expected an --id'],
  [['customer', 'add', '--origin', 'loopback', '--config', '{'], '--config is not JSON'],
  [
    ['customer', 'add', '--origin', 'loopback', '--config', '{"x":1}'],
    'x: There is no such setting',
  ],
  [['customer', 'set', 'demo'], 'Set what?'],
  [['customer', 'rotate', 'demo'], 'Which key?'],
  [['customer', 'remove'], 'Whose?'],
  [['customer', 'remove', 'a', 'b'], 'takes no b'],
  [['customer', 'list', '--frob'], '--frob'],
])('%j is misused', (args, message) => {
  const { status, stderr } = run(args)
  expect(status).toBe(64)
  expect(stderr).toContain(message)
})

test('help and version', () => {
  expect(run(['--help'])).toMatchObject({ status: 0, stderr: '' })
  expect(run(['--help']).stdout).toContain('shoptrail customer add')
  expect(run(['--version'])).toMatchObject({ status: 0, stdout: '1.2.3\n' })
})

test('wrong settings end with 78 and say all of it', () => {
  const { status, stderr } = run(['start'], { PORT: 'x', LOG_LEVEL: 'y' })
  expect(status).toBe(78)
  expect(stderr).toContain('PORT')
  expect(stderr).toContain('LOG_LEVEL')
})

test('a taken port is one clear line', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const { status, stderr } = run(['start'], { PORT: `${port}`, DATA_DIR: join(folder, 'taken') })
  server.close()
  expect(status).toBe(1)
  expect(stderr).toBe(
    `Port ${port} of 127.0.0.1 is taken. Choose another one: PORT=${port + 1} npm start\n`,
  )
})

test.each<[NodeJS.Signals]>([['SIGINT'], ['SIGTERM']])(
  '%s ends it cleanly, twice as well',
  async (signal) => {
    const own = await startProcess(folder, { DATA_DIR: join(folder, signal) })
    const ended = own.end(signal)
    own.process.kill(signal)
    expect(await ended).toBe(0)
    const again = await startProcess(folder, { DATA_DIR: join(folder, signal) })
    expect(again.said()).not.toContain('REST key')
    expect(await again.end(signal)).toBe(0)
  },
)
