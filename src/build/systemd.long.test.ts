import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { layOutGateway, send, startProcess } from '../test/gateway.ts'

/*
 * docs/deploy/shoptrail@.service where systemd does not run: its own tools check the unit, and the system calls of a
 * gateway are compared with those that the unit allows.
 */

const UNIT = fileURLToPath(new URL('../../docs/deploy/shoptrail@.service', import.meta.url))
const unit = readFileSync(UNIT, 'utf8')
/** The values of a setting. */
const valuesOf = (name: string) =>
  [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value)

/** At most this exposure, of 10. What is left is the network, and the memory of the compiler. */
const MAX_EXPOSURE = 1.3

const analyze = (...args: string[]) => {
  const { status, stdout, stderr, error } = spawnSync('systemd-analyze', args, { encoding: 'utf8' })
  if (error) throw new Error('systemd-analyze is not installed: apt-get install systemd')
  return { status, output: stdout + stderr }
}

let folder: string
beforeAll(() => {
  folder = layOutGateway()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('systemd accepts the unit, without a warning', () => {
  const file = join(folder, 'shoptrail@8787.service')
  copyFileSync(UNIT, file)
  // It reports a command that does not exist; Node may be elsewhere here.
  const { output } = analyze('verify', file)
  expect(output.split('\n').filter((line) => line && !/is not executable/.test(line))).toEqual([])
})

test('the unit is hardened', () => {
  const { output } = analyze('security', '--offline=true', UNIT)
  const exposure = Number(/Overall exposure level .*: ([\d.]+)/.exec(output)?.[1])
  expect(exposure).toBeLessThanOrEqual(MAX_EXPOSURE)
})

test('the stop has more time than the gateway takes', () => {
  expect(Number(valuesOf('TimeoutStopSec')[0])).toBeGreaterThan(15)
})

/** The system calls of sets such as `@system-service`. */
function callsOf(set: string): string[] {
  const lines = analyze('syscall-filter', set).output.split('\n')
  return lines
    .map((line) => line.trim())
    .filter((line) => line && line !== set && !line.startsWith('#'))
    .flatMap((line) => (line.startsWith('@') ? callsOf(line) : [line]))
}

test('a gateway needs no system call that the unit refuses', async () => {
  const [allowed = '', refused = ''] = valuesOf('SystemCallFilter')
  const permitted = new Set(allowed.split(' ').flatMap(callsOf))
  for (const call of refused.slice(1).split(' ').flatMap(callsOf)) permitted.delete(call)
  expect(permitted.size).toBeGreaterThan(200)
  const trace = join(folder, 'trace')
  const gateway = await startProcess(folder, {}, ['strace', '-D', '-f', '-qq', '-o', trace])
  const sent = await send(gateway.url, '/t/r?k=DEMOSHOP', {
    method: 'POST',
    headers: { origin: 'http://localhost' },
    body: JSON.stringify({
      event: 'search',
      search_term: 'mug',
      did: 'd-1',
      url: 'http://localhost/',
      http_user_agent: 'UA/1',
      remote_addr: '0.0.0.0',
    }),
  })
  expect(sent.status).toBe(200)
  for (const path of ['/t/j/DEMOSHOP', '/live/', '/campaigns/data/list', '/people/data/proofs'])
    expect((await send(gateway.url, path)).status).toBe(200)
  await gateway.end('SIGINT')
  const calls = new Map(
    readFileSync(trace, 'utf8')
      .split('\n')
      .map((line) => [/^\d+ +(\w+)\(/.exec(line)?.[1] ?? '', line]),
  )
  calls.delete('')
  expect(calls.size).toBeGreaterThan(30)
  // Node raises its limit of files, which the unit sets. The compiler asks for memory keys. Both do without.
  for (const call of ['prlimit64', 'pkey_alloc']) calls.delete(call)
  // SQLite gives a file the owner of another one, if it runs as root.
  if (process.getuid?.() === 0) calls.delete('fchown')
  expect([...calls].flatMap(([call, line]) => (permitted.has(call) ? [] : [line]))).toEqual([])
})

test('a start is over when the gateway answers, and has failed if it has ended', async () => {
  const gateway = await startProcess(folder)
  const [, command = '', script = ''] =
    /^(\S+) -e "(.*)"$/.exec(valuesOf('ExecStartPost')[0] ?? '') ?? []
  expect(command).toBe('/usr/bin/node')
  const wait = async () => {
    const env = { MAINPID: String(gateway.process.pid) }
    const port = new URL(gateway.url).port
    const child = spawn(process.execPath, ['-e', script.replace('%i', port)], { env })
    return (await once(child, 'exit'))[0]
  }
  expect(await wait()).toBe(0)
  await gateway.end('SIGINT')
  // systemd waits for this command, also if the gateway has ended.
  expect(await wait()).toBe(1)
})
