import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runCommand, runProcess } from '../test/command.ts'
import { layOutGateway } from '../test/gateway.ts'
import { KEEPING_STUB, STUB } from '../tracker/snippet.ts'
import { MAX_PINNED } from './script/pinnedScripts.ts'

let folder: string
let env: Record<string, string>
const GATEWAY = 'https://t.shop.example'

beforeAll(() => {
  folder = layOutGateway()
  env = { DATA_DIR: join(folder, 'data'), PUBLIC_URL: GATEWAY }
  addCustomer('SNIPPET1', '{"global":"st"}')
})
afterAll(() => rmSync(folder, { recursive: true }))

function addCustomer(key: string, config = '{}'): string {
  const args = ['--tracking-key', key, '--origin', 'loopback', '--config', config]
  const { stdout } = runCommand(['customer', 'add', ...args], env)
  return /customerId +(\S+)/.exec(stdout)?.[1] as string
}

/** In this process, without the data of a gateway. */
const run = (args: readonly string[], given: Record<string, string> = {}) =>
  runCommand(['snippet', ...args], { DATA_DIR: '/nowhere/at/all', ...given })
/** As a process, which finds the built scripts. */
const runBuilt = (...args: string[]) => runProcess(folder, ['snippet', ...args], env)

test('the stub and the tag, one line each, without the data', () => {
  const { status, stdout } = run(['--key', 'KEY&"123', '--gateway', 'HTTPS://T.shop.example/in//'])
  expect([status, stdout.split('\n')]).toEqual([
    0,
    [
      `<script>${STUB}</script>`,
      '<script async src="https://t.shop.example/in/t/j/KEY%26%22123"></script>',
      '',
    ],
  ])
})

test('the address is that of PUBLIC_URL, and the stub may keep its calls', () => {
  const { stdout } = run(['--key', 'KEY123', '--keep'], { PUBLIC_URL: `${GATEWAY}/` })
  expect(stdout.split('\n').slice(0, 2)).toEqual([
    `<script>${KEEPING_STUB}</script>`,
    `<script async src="${GATEWAY}/t/j/KEY123"></script>`,
  ])
})

test.each<[string[], string]>([
  [
    ['--key', 'KEY123'],
    "Expected the gateway's public address: --gateway https://gateway.example, or the variable PUBLIC_URL",
  ],
  [[], 'Expected the tracking key of a customer, 6 to 20 characters: snippet --key KEY'],
  [['--key', 'short'], 'Expected the tracking key of a customer'],
  [
    ['--key', 'KEY123', '--gateway', 'gateway.example'],
    'Expected --gateway as an http or https address',
  ],
  [
    ['--key', 'KEY123', '--gateway', 'https://g.example/?x'],
    'Expected --gateway as an http or https address',
  ],
  [
    ['--key', 'KEY123', '--gateway', 'https://u:p@g.example/'],
    'Expected --gateway as an http or https address',
  ],
  [['--key', 'KEY123', '--integrity'], "Expected the gateway's public address"],
  [
    ['--key', 'KEY123', '--integrity', '--list'],
    'Expected only one of --integrity, --list and --remove',
  ],
  [['--key', 'KEY123', '--remove', 'abc'], 'Expected --remove with a hash of 64 characters'],
  [['--key', 'KEY123', '--integrty'], 'There is no option --integrty. Did you mean --integrity?'],
  [['--key', 'KEY123', '--json'], 'snippet takes no --json.'],
  [['KEY123'], 'There is no command snippet KEY123.'],
])('snippet %j is refused', (args, message) => {
  const { status, stdout, stderr } = run(args)
  expect([status, stdout]).toEqual([64, ''])
  expect(stderr).toContain(message)
  expect(stderr).toContain('shoptrail --help')
})

test('a tag with integrity, for a script that is kept', () => {
  const first = runBuilt('--key', 'SNIPPET1', '--integrity')
  expect(first).toMatchObject({ status: 0, stderr: '' })
  const [stub, tag] = first.stdout.split('\n')
  // The helpers of this key have another name.
  expect(stub).toMatch(/\(window,\[\],"st"\)<\/script>$/)
  const [, hash, base64] =
    /^<script async src="https:\/\/t\.shop\.example\/t\/j\/SNIPPET1\/([\w-]{64})\.js" integrity="sha384-([\w+/]{64})" crossorigin="anonymous"><\/script>$/.exec(
      tag ?? '',
    ) ?? []
  expect(Buffer.from(hash ?? '', 'base64url')).toEqual(Buffer.from(base64 ?? '', 'base64'))
  // The same script is kept once.
  expect(runBuilt('--key', 'SNIPPET1', '--integrity').stdout).toBe(first.stdout)
  const list = runBuilt('--key', 'SNIPPET1', '--list').stdout
  expect(list).toMatch(/^[\w-]{64} {2}made \d{4}-\d\d-\d\d {2}version \S+\n$/)
  expect(list.slice(0, 64)).toBe(hash)

  expect(runBuilt('--key', 'SNIPPET1', '--remove', hash ?? '')).toMatchObject({
    status: 0,
    stdout: 'Removed. Pages with its tag load no script any more.\n',
  })
  expect(runBuilt('--key', 'SNIPPET1', '--remove', hash ?? '')).toMatchObject({ status: 1 })
  expect(runBuilt('--key', 'SNIPPET1', '--list').stdout).toContain('There are none.')
})

test('too many scripts are refused with their hashes and the command that removes one', () => {
  const id = addCustomer('MANYPINS')
  for (let i = 0; i < MAX_PINNED; i++) {
    runCommand(['customer', 'set', id, '--config', JSON.stringify({ source: `s${i}` })], env)
    expect(runBuilt('--key', 'MANYPINS', '--integrity').status).toBe(0)
  }
  runCommand(['customer', 'set', id, '--config', '{"source":"more"}'], env)
  const { status, stdout, stderr } = runBuilt('--key', 'MANYPINS', '--integrity')
  expect([status, stdout]).toEqual([1, ''])
  expect(stderr).toContain(`The key MANYPINS has ${MAX_PINNED} scripts that stay the same`)
  expect(stderr.match(/^[\w-]{64} {2}made/gm)).toHaveLength(MAX_PINNED)
  expect(stderr).toContain('npx shoptrail snippet --key MANYPINS --remove HASH')
})

test('an unknown key, and data that is not there', () => {
  expect(runBuilt('--key', 'NOBODY12', '--integrity')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('has the tracking key NOBODY12: npx shoptrail customer list'),
  })
  const empty = runCommand(['snippet', '--key', 'SNIPPET1', '--list'], {
    DATA_DIR: join(folder, 'empty'),
  })
  expect(empty).toMatchObject({ status: 1, stderr: expect.stringContaining('No customer in') })
})
