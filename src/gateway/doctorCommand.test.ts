import { rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runProcess } from '../test/command.ts'
import { layOutGateway } from '../test/gateway.ts'

let folder: string
beforeAll(() => {
  folder = layOutGateway()
})
afterAll(() => rmSync(folder, { recursive: true }))

const doctor = (env: Record<string, string>, ...args: string[]) =>
  runProcess(folder, ['doctor', ...args], { DATA_DIR: join(folder, 'data'), PORT: '0', ...env })

test('doctor ends with 0 if only notes are found, and prints each with what to do', () => {
  const { status, stdout, stderr } = doctor({})
  expect([status, stderr]).toEqual([0, ''])
  expect(stdout).toMatch(/^ok {7}settings {4}Every setting is valid/m)
  expect(stdout).toMatch(/^note {5}folder {6}DATA_DIR .* does not exist/m)
  expect(stdout).toMatch(/^ {23}If the gateway was started before/m)
  expect(stdout).toMatch(/\n0 errors, \d+ warnings?, \d+ notes\.\n$/)
})

test('doctor ends with 1 if an error is found, also as JSON', () => {
  writeFileSync(join(folder, 'data'), '')
  const { status, stdout } = doctor({ METRIC_TOKEN: 'x' }, '--json')
  rmSync(join(folder, 'data'))
  expect(status).toBe(1)
  const findings = JSON.parse(stdout)
  expect(findings).toContainEqual({
    check: 'folder',
    level: 'error',
    message: `DATA_DIR ${join(folder, 'data')} is not a folder`,
    fix: ['Choose another folder: DATA_DIR=./data'],
  })
  expect(findings[0]).toMatchObject({ check: 'settings', level: 'warning' })
})

test('what can not be checked is an error, and the other checks still run', () => {
  symlinkSync('loop', join(folder, 'loop'))
  const { status, stdout, stderr } = doctor({ DATA_DIR: join(folder, 'loop') }, '--json')
  expect([status, stderr]).toEqual([1, ''])
  const findings = JSON.parse(stdout)
  expect(findings).toContainEqual({
    check: 'folder',
    level: 'error',
    message: expect.stringMatching(/^This could not be checked: ELOOP: .*loop'$/),
    fix: ['Run doctor as the user of the gateway'],
  })
  expect(findings.at(-1).check).toBe('public url')
})

test('wrong settings are the findings, each one', () => {
  const { status, stdout } = doctor({ LOG_LEVEL: 'loud', DEMO: 'x' }, '--json')
  expect(status).toBe(1)
  expect(JSON.parse(stdout).map(({ message }: { message: string }) => message)).toEqual([
    'DEMO (environment): Expected on or off',
    expect.stringMatching(/^LOG_LEVEL \(environment\): Expected fatal/),
  ])
})
