import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { runCommand, runProcess } from '../test/command.ts'
import { type GatewayProcess, layOutGateway, send, startProcess } from '../test/gateway.ts'
import { hasRestKey } from './customers/customers.ts'
import { EVERYTHING, openMoveState, STATE } from './move/moveState.ts'
import { createSqliteCustomers } from './sqlite/customers.ts'
import { openDatabase } from './sqlite/database.ts'
import { createMirrorRows } from './sqlite/mirrorRows.ts'

let folder: string
let running: GatewayProcess

beforeAll(async () => {
  folder = layOutGateway()
  running = await startProcess(folder)
})
afterAll(async () => {
  running.process.kill('SIGKILL')
  rmSync(folder, { recursive: true })
})

const run = (args: readonly string[], env: Record<string, string> = {}) =>
  runCommand(args, { DATA_DIR: join(folder, 'data'), ...env })

/** A start that fails. */
const start = (env: Record<string, string>) =>
  runProcess(folder, ['start'], { DATA_DIR: join(folder, 'data'), PORT: '0', ...env })

const fieldOf = (name: string, text: string) => new RegExp(`${name} +(\\S+)`).exec(text)?.[1] ?? ''

test('a start with the demo prints all addresses, and its REST key only the first time', () => {
  const output = running.output()
  expect(output).toContain(`${running.url}/shop/`)
  expect(output).toContain(`${running.url}/live/`)
  expect(output).toContain(`${running.url}/campaigns/`)
  expect(output).toContain(`<script async src="${running.url}/t/j/DEMOSHOP"></script>`)
  expect(fieldOf('REST key', output)).toMatch(/^[A-Z2-7]{52}$/)
})

test('a customer has the daily quota of the settings, or its own', async () => {
  const origin = ['--origin', 'https://quota.example']
  const id = fieldOf('customerId', run(['customer', 'add', ...origin]).stdout)
  const quotaIn = (text: string) => /daily quota +(.+)/.exec(text.slice(text.indexOf(id)))?.[1]
  const set = (...args: string[]) => quotaIn(run(['customer', 'set', id, ...args]).stdout)
  const byDefault = '10,000,000 events (default), 21,474,836,480 bytes (default)'
  expect(quotaIn(run(['customer', 'list']).stdout)).toBe(byDefault)
  expect(quotaIn(run(['customer', 'list'], { DAILY_EVENTS: '5' }).stdout)).toMatch(
    /^5 events \(def/,
  )
  expect(set('--daily-events', '50000')).toBe('50,000 events, 21,474,836,480 bytes (default)')
  expect(set('--daily-bytes', '1000')).toBe('50,000 events, 1,000 bytes')
  expect(set('--daily-events', 'default')).toBe('10,000,000 events (default), 1,000 bytes')
  expect(set('--daily-bytes', 'default')).toBe(byDefault)

  const added = run(['customer', 'add', ...origin, '--daily-events', '1']).stdout
  const target = `/t/r?k=${fieldOf('trackingKey', added)}`
  const body = JSON.stringify({ did: 'd', event: 'e', url: 'https://quota.example/' })
  const headers = { origin: 'https://quota.example', 'user-agent': 'Mozilla/5.0' }
  const post = async () =>
    (await send(running.url, target, { method: 'POST', body, headers })).status
  expect([await post(), await post()]).toEqual([200, 429])
})

test('a customer ignores the addresses of its staff, which can be replaced and removed', async () => {
  const ignore = ['--ignore', '127.0.0.1/8', '--ignore', '2001:DB8:1::/48']
  const added = run(['customer', 'add', '--origin', 'https://ignore.example', ...ignore]).stdout
  const id = fieldOf('customerId', added)
  const ignoredIn = (text: string) =>
    /^\n? {2}ignored +(.+)/m.exec(text.slice(text.indexOf(id)).split('\n\n')[0] ?? '')?.[1]
  const set = (...args: string[]) => ignoredIn(run(['customer', 'set', id, ...args]).stdout)
  expect(ignoredIn(run(['customer', 'list']).stdout)).toBe('127.0.0.0/8 2001:db8:1::/48')

  const target = `/t/r?k=${fieldOf('trackingKey', added)}`
  const body = JSON.stringify({ did: 'd', event: 'e', url: 'https://ignore.example/' })
  const headers = { origin: 'https://ignore.example', 'user-agent': 'Mozilla/5.0' }
  const post = async () =>
    JSON.parse((await send(running.url, target, { method: 'POST', body, headers })).text)
  expect(await post()).toEqual({ id: expect.any(String), ignored: true })
  expect(set('--ignore', '198.51.100.7')).toBe('198.51.100.7')
  expect(set('--name', 'x')).toBe('198.51.100.7')
  await vi.waitFor(async () => expect(await post()).not.toHaveProperty('ignored'), 5_000)
  expect(set('--ignore', 'none')).toBeUndefined()
})

test('a customer keeps events for a number of days, or without a limit', async () => {
  const origin = 'https://retention.example'
  const added = run(['customer', 'add', '--origin', origin, '--retention-days', '90']).stdout
  const id = /^customerId +(\S+)/m.exec(added)?.[1] as string
  const shown = (text: string) =>
    /^ {2}retention +(.+)/m.exec(text.slice(text.indexOf(id)).split('\n\n')[0] ?? '')?.[1]
  const noteOf = (text: string) => /unsubscribed_emails has to do so (.+)\.$/m.exec(text)?.[1]
  const setDays = (days: string) => run(['customer', 'set', id, '--retention-days', days]).stdout
  const set = (days: string) => shown(setDays(days))
  expect(noteOf(added)).toBe('at least every 89 days')
  expect(noteOf(setDays('1'))).toBe('at least every few hours')
  expect(noteOf(run(['customer', 'set', id, '--retention-days', 'none']).stdout)).toBeUndefined()
  set('90')
  expect(shown(run(['customer', 'list']).stdout)).toBe('90 days')
  expect(set('3650')).toBe('3650 days')
  expect(set('1')).toBe('1 day')
  expect(set('none')).toBe('none: events are kept without a limit (default)')
})

test('a customer keeps addresses whole, short or not at all', async () => {
  const origin = 'https://addresses.example'
  const added = run(['customer', 'add', '--origin', origin, '--addresses', 'short']).stdout
  const id = fieldOf('customerId', added)
  const formIn = (text: string) =>
    /^ {2}addresses +(.+)/m.exec(text.slice(text.indexOf(id)).split('\n\n')[0] ?? '')?.[1]
  const set = (...args: string[]) => formIn(run(['customer', 'set', id, ...args]).stdout)
  expect(formIn(run(['customer', 'list']).stdout)).toBe('short')
  expect(set('--name', 'x')).toBe('short')
  expect(set('--addresses', 'none')).toBe('none')
  expect(set('--addresses', 'whole')).toBe('whole (default)')
})

test('a customer has a currency, a time zone, and statuses that count as refunds', async () => {
  const origin = 'https://orders.example'
  const asked = ['--currency', 'ron', '--time-zone', 'europe/bucharest']
  const added = run(['customer', 'add', '--origin', origin, ...asked]).stdout
  const id = fieldOf('customerId', added)
  const shown = (text: string) => {
    const lines = text.slice(text.indexOf(id)).split('\n\n')[0] ?? ''
    return ['currency', 'time zone', 'refunds'].map(
      (name) => new RegExp(`^ {2}${name} +(.+)`, 'm').exec(lines)?.[1],
    )
  }
  const set = (...args: string[]) => shown(run(['customer', 'set', id, ...args]).stdout)
  const defaults = expect.stringMatching(/^refunded, cancelled, .+ \(default\)$/)
  expect(shown(run(['customer', 'list']).stdout)).toEqual(['RON', 'Europe/Bucharest', defaults])
  expect(
    set('--refund-status', ' Anulată ', '--refund-status', 'RETUR', '--currency', 'EUR'),
  ).toEqual(['EUR (default)', 'Europe/Bucharest', 'anulată, retur'])
  expect(set('--name', 'x', '--time-zone', 'UTC')[1]).toBe('UTC (default)')
  expect(set('--refund-status', 'none')[2]).toBe('none')
  expect(set('--refund-status', 'default')[2]).toEqual(defaults)
})

test('a setting above its bound is refused with its path, and changes nothing', () => {
  const DATA_DIR = join(folder, 'bounds')
  const added = run(['customer', 'add', '--origin', 'loopback'], { DATA_DIR })
  const id = fieldOf('customerId', added.stdout)
  for (const [config, fault] of [
    [{ dataLayerName: 'location' }, '  dataLayerName: Expected a JavaScript identifier'],
    [{ source: 'x'.repeat(2_049) }, '  source: Expected at most 2048 characters'],
  ] as const) {
    const { status, stderr } = run(['customer', 'set', id, '--config', JSON.stringify(config)], {
      DATA_DIR,
    })
    expect(status).toBe(64)
    expect(stderr).toContain(fault)
  }
  expect(run(['customer', 'list'], { DATA_DIR }).stdout).not.toMatch(/location|xxx/)
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
  const merged = run(['customer', 'set', id, '--config', '{"ga4":true}'])
  expect(merged.stdout).toContain('{"source":"set","ga4":true}')
  const less = run(['customer', 'set', id, '--config', '{"source":null}'])
  expect(less.stdout).toContain('{"ga4":true}')
  expect(set.stdout).toContain('A shop')

  const rest = fieldOf('restKey', run(['customer', 'rotate', id, '--key', 'rest']).stdout)
  expect(rest).toMatch(/^[A-Z2-7]{52}$/)
  expect(rest).not.toBe(restKey)
  const tracking = run(['customer', 'rotate', id, '--key', 'tracking'])
  expect(await statusOf(fieldOf('trackingKey', tracking.stdout))).toBe(200)

  const unsure = run(['customer', 'remove', id])
  expect(unsure.status).toBe(64)
  expect(unsure.stderr).toContain(`customer remove ${id} --yes`)
  expect(run(['customer', 'remove', id, '--yes']).status).toBe(0)
  expect(run(['customer', 'remove', id])).toMatchObject({
    status: 1,
    stderr: `There is no customer ${id} in ${join(folder, 'data')}\n`,
  })
  const again = run(['customer', 'add', '--origin', 'loopback', '--id', id])
  expect(again.status).toBe(1)
  expect(again.stderr).toContain(`${id} was the id of a customer that was removed`)
  const sameKey = ['--tracking-key', trackingKey]
  expect(run(['customer', 'add', '--origin', 'loopback', ...sameKey])).toMatchObject({
    status: 1,
    stderr: expect.stringContaining(`${trackingKey} was a tracking key of ${id}`),
  })
})

test.each<[string, Record<string, string>, string]>([
  ['the port', { PORT: '9000' }, 'http://localhost:9000'],
  ['PUBLIC_URL', { PUBLIC_URL: 'https://t.shop.example/' }, 'https://t.shop.example'],
])('the tag of a new customer has the address of %s', (_, env, base) => {
  const { stdout } = run(['customer', 'add', '--origin', 'loopback'], env)
  expect(stdout).toContain(
    `<script async src="${base}/t/j/${fieldOf('trackingKey', stdout)}"></script>`,
  )
  expect(stdout).toContain(`(${base} `)
  // The command does not know the port of a gateway that was started with another PORT.
  const warning = `listens on port ${env.PORT}. If you start it with another PORT, use that port`
  expect(stdout.includes(warning)).toBe(env.PORT !== undefined)
})

test('a chosen id can be used once', () => {
  const args = ['customer', 'add', '--id', 'my-shop', '--origin', 'https://shop.example']
  expect(run(args).stdout).toContain('my-shop')
  expect(run(args)).toMatchObject({ status: 1, stderr: 'The customer my-shop already exists\n' })
})

test('a shop can keep its keys; the REST key is read from the environment and not shown', () => {
  const args = ['customer', 'add', '--id', 'mover', '--tracking-key', 'OLD-KEY/1', '--origin']
  const { status, stdout } = run([...args, 'loopback'], { REST_KEY: 'REST-KEY-00000001' })
  expect(status).toBe(0)
  expect(fieldOf('trackingKey', stdout)).toBe('OLD-KEY/1')
  expect(stdout).toContain('/t/j/OLD-KEY%2F1"')
  expect(stdout).not.toContain('REST-KEY-00000001')
  const customers = createSqliteCustomers(join(folder, 'data/customers.db'))
  const mover = customers.find('mover')
  expect(mover && hasRestKey(mover, 'REST-KEY-00000001')).toBe(true)
  customers.close()
  expect(run([...args.map((one) => one.replace('mover', 'other')), 'loopback'])).toMatchObject({
    status: 1,
    stderr: 'The tracking key OLD-KEY/1 belongs to another customer\n',
  })
})

test.each([
  ...['', ' ', 'SECRET-15-LONG-', ' REST-KEY-00000001', 'REST-KEY-00000001\n', 'SECRET'.repeat(43)],
])('%j in REST_KEY is not a valid key', (REST_KEY) => {
  const args = ['customer', 'add', '--origin', 'loopback', '--id', 'never']
  const { status, stderr } = run(args, { REST_KEY })
  expect(status).toBe(64)
  expect(stderr).toContain('Expected in REST_KEY a key of 16 to 256 characters, without white')
  expect(stderr).not.toContain('SECRET')
})

test.each<[string[], string]>([
  [[], ''],
  [['frobnicate'], 'There is no command frobnicate.\n'],
  [['customers', 'list'], 'There is no command customers list. Did you mean customer?'],
  [['customer', 'lst'], 'There is no command customer lst. Did you mean list?'],
  [['start', 'now'], 'There is no command start now'],
  [['customer'], 'Expected one of add, list, set, rotate, remove after customer.'],
  [['customer', 'frobnicate'], 'There is no command customer frobnicate'],
  [['customer', 'add'], 'Expected the origin of the pages that send events'],
  [['customer', 'add', 'x', '--origin', 'loopback'], 'takes no x'],
  [['customer', 'add', '--origin', 'shop.example'], 'shop.example is not an origin'],
  [['customer', 'add', '--origin', 'loopback', '--id', 'a b'], 'Expected an --id'],
  [['customer', 'add', '--origin', 'loopback', '--tracking-key', 'ABC12'], 'Expected a --tracking'],
  [['customer', 'add', '--origin', 'loopback', '--tracking-key', ' ABC123'], 'Expected a --tr'],
  [['customer', 'set', 'x', '--tracking-key', 'ABC123'], 'customer set takes no --tracking-key'],
  [
    ['customer', 'add', '--origin', 'loopback', '--config', '{'],
    '--config is not a JSON object: {\n',
  ],
  [
    ['customer', 'set', 'demo', '--config', '[]'],
    `Example: --config '{"ga4":true}', in single quotes`,
  ],
  [['customer', 'set', 'demo', '--config', 'null'], '--config is not a JSON object: null'],
  [
    ['customer', 'add', '--origin', 'loopback', '--origin', 'https://shop.*'],
    'https://shop.* is not an origin: expected a * only in place of whole subdomains',
  ],
  [
    ['customer', 'add', '--origin', 'loopback', '--config', '{"x":1}'],
    'x: There is no such setting',
  ],
  [
    ['customer', 'set', 'demo', '--ignore', '203.0.113.7', '--ignore', 'office.example'],
    '--ignore office.example: expected an address or a network, such as 203.0.113.7',
  ],
  [
    ['customer', 'set', 'demo', '--ignore', '0.0.0.0/0'],
    '--ignore 0.0.0.0/0: expected a network of',
  ],
  [['customer', 'set', 'demo', '--ignore', 'none', '--ignore', '::1'], '--ignore none: expected'],
  [
    ['customer', 'set', 'demo', ...Array.from({ length: 101 }, (_, n) => `--ignore=192.0.2.${n}`)],
    'Expected at most 100 times --ignore: name networks in place of addresses',
  ],
  ...['0', '3651', '1.5', '-1', '', 'None', '1e2'].map((days): [string[], string] => [
    ['customer', 'set', 'demo', `--retention-days=${days}`],
    `Expected --retention-days as a whole number from 1 to 3650, or none: ${days}`,
  ]),
  [
    ['customer', 'set', 'demo', '--addresses', 'Short'],
    'Expected --addresses as one of whole, short, none: Short',
  ],
  ...['', 'lei', 'XXX', '€'].map((code): [string[], string] => [
    ['customer', 'set', 'demo', `--currency=${code}`],
    `Expected --currency as a code of ISO 4217, such as EUR or RON: ${code}`,
  ]),
  ...['', 'Bucharest', '+02:00'].map((zone): [string[], string] => [
    ['customer', 'set', 'demo', `--time-zone=${zone}`],
    `Expected --time-zone as a name of IANA, such as Europe/Bucharest or UTC: ${zone}`,
  ]),
  [
    ['customer', 'set', 'demo', '--refund-status', 'refunded', '--refund-status', ' '],
    'Expected --refund-status of 1 to 100 characters:  ',
  ],
  [
    ['customer', 'set', 'demo', ...Array.from({ length: 101 }, (_, n) => `--refund-status=${n}`)],
    'Expected at most 100 times --refund-status',
  ],
  [['data'], 'Expected one of accept, upgrade after data.'],
  [['data', 'acept'], 'There is no command data acept. Did you mean accept?'],
  [['data', 'accept', 'x'], 'data accept takes no x.'],
  [['data', 'accept', '--yes'], 'data accept takes no --yes.'],
  [['constructor'], 'There is no command constructor.'],
  [['customer', 'set', 'demo'], 'Expected one of --origin, --name'],
  [['customer', 'rotate', 'demo'], 'Expected --key rest or --key tracking'],
  [['customer', 'remove'], 'Expected the id of a customer: customer remove ID'],
  [['customer', 'remove', 'a', 'b'], 'takes no b'],
  [['customer', 'list', '--frobnicate'], 'There is no option --frobnicate.\n'],
  [
    ['customer', 'add', '--orgin', 'loopback'],
    'There is no option --orgin. Did you mean --origin?',
  ],
  [['customer', 'list', '--name', 'x'], 'customer list takes no --name.'],
  [
    ['person', 'erase', '--customer', 'a', '--email', 'a@b.example', '--email=c@d.example'],
    'Expected --email only once.',
  ],
  [['customer', 'set', 'demo', '--addresses', 'none', '--addresses', 'whole'], 'only once'],
  [['customer', 'add', '--key', 'rest'], 'customer add takes no --key.'],
  ...['0', '-1', '1.5', '10 MB', '100000000000001', ''].map((quota): [string[], string] => [
    ['customer', 'set', 'demo', `--daily-events=${quota}`],
    `Expected --daily-events as a whole number from 1 to 100000000000000, or default: ${quota}\n`,
  ]),
  [['customer', 'rotate', 'demo', '--daily-bytes', '1'], 'customer rotate takes no --daily-bytes.'],
  [['customer', 'set', 'demo', '--yes'], 'customer set takes no --yes.'],
  [['start', '--origin', 'loopback'], 'start takes no --origin.'],
])('%j is misused', (args, message) => {
  const { status, stderr } = run(args)
  expect(status).toBe(64)
  expect(stderr).toContain(message)
})

test('a customer whose row is damaged is listed as such, and repaired by a change', () => {
  const add = ['customer', 'add', '--origin', 'loopback', '--id']
  run([...add, 'sound'])
  run([...add, 'broken', '--config', '{"source":"x"}'])
  const store = (column: string, value: unknown) => {
    const database = openDatabase(join(folder, 'data/customers.db'))
    database.prepare(`UPDATE customers SET ${column} = ? WHERE customer_id = 'broken'`).run(value)
    database.close()
  }
  const listed = () => {
    const { status, stdout } = run(['customer', 'list'])
    expect(status).toBe(0)
    expect(stdout).toContain('sound')
    return stdout
  }
  const set = (...args: string[]) => run(['customer', 'set', 'broken', ...args])

  store('config', '{"ga4":true,"of tomorrow":1}')
  expect(listed()).toMatch(/UNUSABLE +config: of tomorrow: There is no such setting/)
  expect(set('--config', '{"batch":false}').status).toBe(64)
  expect(set('--config', '{"of tomorrow":null}').stdout).toContain('{"ga4":true}')
  store('config', '{"ga4"')
  expect(listed()).toMatch(/UNUSABLE +config: It is not JSON/)
  expect(set('--config', '{"batch":false}').stdout).toContain('{"batch":false}')
  store('origins', '{}')
  expect(listed()).toMatch(/UNUSABLE +origins: Expected a list/)
  expect(set('--origin', 'https://shop.example').stdout).toContain('https://shop.example')
  store('rest_key_hash', Buffer.from('x'))
  expect(listed()).toMatch(/UNUSABLE +restKey/)
  expect(run(['customer', 'rotate', 'broken', '--key', 'rest']).status).toBe(0)
  expect(listed()).not.toContain('UNUSABLE')
})

/** Colours, a line break, an override of the direction, a control sequence in one character. */
const NASTY = '\u001b[31mred\nsecond\u202egnp\u009b2J'
const SHOWN = '\\u{1b}[31mred\\nsecond\\u{202e}gnp\\u{9b}2J'

test('typed text is printed without being executed by the terminal, wherever it is', () => {
  const origin = ['--origin', 'loopback']
  const name = ['--id', 'nasty', '--name', NASTY, '--tracking-key', `K${NASTY.slice(-9)}`]
  const config = JSON.stringify({ source: NASTY })
  const outputs = [
    run(['customer', 'add', ...name, ...origin, '--config', config]),
    run(['customer', 'list']),
    run(['customer', 'set', 'nasty', '--name', NASTY]),
    ...[[NASTY], ['customer', NASTY], ['customer', 'remove', NASTY], [`--${NASTY}`]].map((args) =>
      run(args),
    ),
    run(['customer', 'add', '--origin', NASTY]),
    run(['customer', 'add', ...origin, '--config', NASTY]),
    run(['customer', 'add', ...origin, '--config', JSON.stringify({ [NASTY]: 1 })]),
    run(['customer', 'list'], { DATA_DIR: join(folder, 'dist/shoptrail.js', NASTY) }),
    start({ HOST: NASTY }),
  ]
  for (const { stdout, stderr } of outputs) {
    const output = stdout + stderr
    expect(output).not.toMatch(/[^\P{C}\n]/u)
    expect(output).not.toMatch(/^second/m)
  }
  expect(outputs[1]?.stdout).toContain(`nasty (${SHOWN})\n`)
  run(['customer', 'remove', 'nasty', '--yes'])
})

test('a line of the log is printable too', async () => {
  const DATA_DIR = join(folder, 'log\u202ex\u009b2J')
  const { stdout, stderr } = await startAndEnd([], { DATA_DIR }, '"Not ready"')
  expect(stdout + stderr).not.toMatch(/[^\P{C}\n]/u)
  const line = stdout.split('\n').find((text) => text.includes('"Not ready"')) ?? ''
  expect(JSON.parse(line)).toMatchObject({ dataDir: DATA_DIR })
})

test('help and version', () => {
  expect(run(['--help'])).toMatchObject({ status: 0, stderr: '' })
  expect(run(['--help']).stdout).toContain('shoptrail customer add')
})

test('the process has the arguments and the environment of its command, its output and its exit code', () => {
  const DATA_DIR = join(folder, 'process')
  const runIt = (...args: string[]) => runProcess(folder, args, { DATA_DIR })
  expect(runIt('--version')).toEqual({ status: 0, stdout: '1.2.3\n', stderr: '' })
  expect(runIt('customer', 'add')).toEqual({
    status: 64,
    stdout: '',
    stderr: expect.stringMatching(/^Expected the origin of .*\nCommands and options: .*\n$/),
  })
  expect(runIt('customer', 'add', '--origin', 'loopback', '--id', 'one').status).toBe(0)
  expect(runIt('customer', 'list').stdout).toMatch(/^one\n/)
  expect(existsSync(join(DATA_DIR, 'customers.db'))).toBe(true)
})

test('wrong settings end with exit code 78 and a message with every fault', () => {
  const { status, stderr } = start({ PORT: 'x', LOG_LEVEL: 'y' })
  expect(status).toBe(78)
  expect(stderr).toContain('PORT')
  expect(stderr).toContain('LOG_LEVEL')
})

test('a port in use is reported in one line', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const { status, stderr } = start({ PORT: `${port}`, DATA_DIR: join(folder, 'taken') })
  server.close()
  expect(status).toBe(1)
  expect(stderr).toBe(
    `Port ${port} of 127.0.0.1 is in use. Set PORT to another one, or to 0 for any free port\n`,
  )
})

test.each([['0.0.0.1'], ['no.such.host.invalid'], ['999.1.1.1']])(
  'a HOST that can not be used, %s, is named in one line',
  (HOST) => {
    const { status, stderr } = start({ HOST })
    expect(status).toBe(1)
    expect(stderr).toMatch(new RegExp(`^HOST ${HOST} is not an address of this machine.*\n$`))
  },
)

test.each([
  ['a file', () => join(folder, 'dist/shoptrail.js')],
  ['below /proc', () => '/proc/x'],
])('a DATA_DIR that is %s is reported in one line by every command', (_, dataDir) => {
  const DATA_DIR = dataDir()
  for (const { status, stderr } of [start({ DATA_DIR }), run(['customer', 'list'], { DATA_DIR })]) {
    expect(status).toBe(1)
    expect(stderr).toContain(`DATA_DIR ${DATA_DIR} can not be used`)
    expect(stderr.trim()).not.toContain('\n')
  }
})

test.each(['events.db', 'customers.db'])(
  'a %s that is not a database is named, with the remedy',
  (name) => {
    const DATA_DIR = join(folder, `bad-${name}`)
    mkdirSync(DATA_DIR)
    writeFileSync(join(DATA_DIR, name), 'garbage '.repeat(1_000))
    const { status, stderr } = start({ DATA_DIR })
    expect(status).toBe(1)
    expect(stderr).toContain(
      `${join(DATA_DIR, name)} is not a database of shoptrail, or is damaged`,
    )
    expect(stderr.trim()).not.toContain('\n')
  },
)

test('a start with the demo prints the current tracking key of the demo customer', async () => {
  const DATA_DIR = join(folder, 'rotated')
  await (await startProcess(folder, { DATA_DIR })).end('SIGTERM')
  const rotated = run(['customer', 'rotate', 'demo', '--key', 'tracking'], { DATA_DIR })
  const again = await startProcess(folder, { DATA_DIR })
  expect(again.output()).toContain(`/t/j/${fieldOf('trackingKey', rotated.stdout)}"`)
  expect(again.output()).not.toContain('DEMOSHOP')
  await again.end('SIGTERM')
})

/** Starts a gateway, ends it once stdout contains `last`, and returns its output by stream. */
async function startAndEnd(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  last = '"Listening"',
) {
  const own = spawn(process.execPath, [join(folder, 'dist/shoptrail.js'), 'start', ...args], {
    env: { PORT: '0', DRAIN_MS: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    own[name].on('data', (chunk: Buffer) => {
      output[name] += chunk
      if (output.stdout.includes(last)) own.kill()
    })
  await once(own, 'close')
  return output
}

test.each([
  [{ HOST: '0.0.0.0' }, 'HOST 0.0.0.0 can be reached from other machines'],
  [{ TRUSTED_PROXIES: '127.0.0.1' }, 'TRUSTED_PROXIES is set'],
  [
    { PUBLIC_URL: 'https://t.shop.example' },
    'PUBLIC_URL https://t.shop.example can be reached from other machines',
  ],
])(
  'with %j a start with the demo reports in one line why it is not served',
  async (env, reason) => {
    const { stdout, stderr } = await startAndEnd(['--demo'], {
      ...env,
      DATA_DIR: join(folder, `world-${Object.keys(env)}`),
    })
    expect(stderr).toBe(
      `The demo is off, because its pages need no sign-in and ${reason}. Unset ${Object.keys(env)} to get the demo. To add a customer of your own: npx shoptrail customer add --origin https://shop.example\n`,
    )
    expect(stdout).not.toContain('/shop/')
  },
)

test('the log warns that inlined scripts need PUBLIC_URL, and that a demo customer still exists', async () => {
  const DATA_DIR = join(folder, 'left')
  const bare = await startAndEnd([], { DATA_DIR })
  expect(bare.stdout).toContain('PUBLIC_URL is not set: scripts that are inlined or evaluated')
  expect(bare.stdout).not.toContain('demo')
  await (await startProcess(folder, { DATA_DIR })).end('SIGTERM')
  const { stdout, stderr } = await startAndEnd([], {
    DATA_DIR,
    PUBLIC_URL: 'https://t.shop.example/in',
    METRICS_TOKEN: 'm'.repeat(16),
  })
  expect(stdout).not.toContain('inlined')
  expect(stdout).toContain('customer remove demo --yes')
  expect(stdout + stderr).not.toContain('mmmm')
})

test('no command takes the copy of a cluster for databases of SQLite', () => {
  const copy = join(folder, 'copy')
  mkdirSync(copy)
  const file = join(copy, 'customers.db')
  createSqliteCustomers(file).close()
  const database = openDatabase(file)
  createMirrorRows(database, [{ table: 'customers', key: ['customer_id'] }])
  database.close()
  const commands = [
    ['customer', 'add', '--origin', 'https://shop.example'],
    ['customer', 'list'],
    ['person', 'proofs', '--customer', 'acme'],
    ['forward', 'list'],
    ['export', '--customer', 'acme', '--format', 'csv'],
    ['backup', join(folder, 'copied')],
    ['data', 'accept'],
    ['move', '--from', 'sqlite', '--to', 'nats://127.0.0.1:9'],
  ]
  for (const command of commands) {
    const { status, stderr } = run(command, { DATA_DIR: copy })
    expect([status, stderr]).toEqual([
      1,
      `${file} is a gateway's copy of a cluster. Set ENGINE to the cluster, or DATA_DIR to another folder\n`,
    ])
  }
})

test('a start over a folder that was moved to a cluster has a warning in the log', async () => {
  const dataDir = join(folder, 'moved')
  mkdirSync(dataDir)
  const state = openMoveState(join(dataDir, STATE))
  state.begin('a cluster')
  const begun = await startProcess(folder, { DATA_DIR: dataDir })
  await begun.end('SIGTERM')
  expect(begun.output()).not.toContain('was moved to a cluster')
  state.note(EVERYTHING)
  state.close()
  const moved = await startProcess(folder, { DATA_DIR: dataDir })
  await moved.end('SIGTERM')
  expect(moved.output()).toContain('was moved to a cluster')
})

test('the welcome names the address of the metrics only if there is one', async () => {
  const without = await startProcess(folder, { DATA_DIR: join(folder, 'quiet') })
  expect(without.output()).not.toMatch(/metrics/i)
  await without.end('SIGTERM')
  const env = { DATA_DIR: join(folder, 'measured'), METRICS_PORT: '0' }
  const own = await startProcess(folder, env)
  const url = /Metrics +(http:\/\/127\.0\.0\.1:\d+\/metrics)/.exec(own.output())?.[1] as string
  expect(await (await fetch(url)).text()).toContain('events_total')
  await own.end('SIGTERM')
})

test('a METRICS_PORT in use is reported in one line', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const { status, stderr } = start({ METRICS_PORT: `${port}`, DATA_DIR: join(folder, 'taken') })
  server.close()
  expect([status, stderr]).toEqual([
    1,
    `METRICS_PORT ${port} is in use. Choose another one, or 0 for any free port\n`,
  ])
})

test.each<[NodeJS.Signals]>([['SIGINT'], ['SIGTERM']])(
  '%s ends it cleanly, also if it is sent twice',
  async (signal) => {
    const own = await startProcess(folder, { DATA_DIR: join(folder, signal) })
    const ended = own.end(signal)
    own.process.kill(signal)
    expect(await ended).toBe(0)
    const again = await startProcess(folder, { DATA_DIR: join(folder, signal) })
    expect(again.output()).not.toContain('REST key')
    expect(await again.end(signal)).toBe(0)
  },
)
