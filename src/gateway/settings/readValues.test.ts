import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import fc from 'fast-check'
import { string } from 'valibot'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { onOff, port, whole } from './kinds.ts'
import { readValues } from './readValues.ts'
import { readSettingsFile } from './settingsFile.ts'

const TABLE = {
  PORT: { type: port, default: '8787', doc: '' },
  DATA_DIR: { type: string(), default: './data', doc: '' },
  METRICS_TOKEN: { type: string(), isSecret: true, doc: '' },
  MAX_LIVE_VIEWS: { type: whole(1, 10), doc: '' },
  DEMO: { type: onOff, default: 'off', doc: '' },
} as const

let folder: string
let file: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'shoptrail-'))
  file = join(folder, 'settings.env')
})
afterAll(() => rmSync(folder, { recursive: true }))

function write(content: string | Buffer, mode = 0o600): string {
  writeFileSync(file, content)
  chmodSync(file, mode)
  return file
}

const read = (content: string | Buffer, env = {}, mode = 0o600) =>
  readValues(TABLE, [], env, { file: write(content, mode) })

const faultsOf = (content: string | Buffer, env = {}) => {
  const result = read(content, env)
  return result.ok ? [] : result.message.split('\n').slice(1)
}

test('the command line wins over the environment, and the environment over the file', () => {
  const content =
    '# comment\n; comment\n\nPORT=1\r\nDATA_DIR = "/a b#c"\nDEMO=off\nMAX_LIVE_VIEWS=\n'
  const options = { DEMO: { text: 'on', where: '--demo' } }
  const result = readValues(
    TABLE,
    [],
    { PORT: '2', DATA_DIR: ' ', METRICS_TOKEN: 'hidden', DEMO: 'off' },
    { file: write(content), options },
  )
  expect(result).toMatchObject({
    ok: true,
    warnings: [],
    values: { PORT: 2, DATA_DIR: '/a b#c', METRICS_TOKEN: 'hidden', DEMO: true },
    effective: [
      { name: 'PORT', shown: '2', where: 'environment' },
      { name: 'DATA_DIR', shown: '/a b#c', where: `${file}, line 5` },
      { name: 'METRICS_TOKEN', shown: '(secret)', where: 'environment' },
      { name: 'MAX_LIVE_VIEWS', shown: undefined, where: 'default' },
      { name: 'DEMO', shown: 'on', where: '--demo' },
    ],
  })
})

test('every fault of the file and of the environment is in one message, with its place', () => {
  const content =
    'PORT=99999\nDATA_DIRS=x\nnonsense\nDEMO=on\nDEMO=off\nSETTINGS_FILE=y\nFOREIGN_NAME=1\n'
  expect(faultsOf(content, { MAX_LIVE_VIEWS: '11' })).toEqual([
    `  ${file}, line 3: Expected NAME=VALUE. A value with # must be in quotes; a comment needs a line of its own`,
    `  ${file}, line 5: DEMO is already in line 4. Remove one of them`,
    `  DATA_DIRS (${file}, line 2): There is no such setting. Did you mean DATA_DIR?`,
    `  SETTINGS_FILE (${file}, line 6): A settings file can not name another one`,
    `  FOREIGN_NAME (${file}, line 7): There is no such setting.`,
    `  PORT (${file}, line 1): Expected a port, 0 to 65535`,
    '  MAX_LIVE_VIEWS (environment): Expected a whole number from 1 to 10',
  ])
})

test.each(['__proto__', 'constructor', 'toString'])('%s is no setting', (name) => {
  expect(faultsOf(`${name}=1`)).toHaveLength(1)
})

test('a value of the file that the environment replaces is not checked', () => {
  expect(read('PORT=none', { PORT: '1' })).toMatchObject({ ok: true, values: { PORT: 1 } })
})

test.each([
  'METRICS_TOKEN=abc#def',
  'METRICS_TOKEN="abc" def',
  'METRICS_TOKEN="abc',
  "METRICS_TOKEN=it's",
  'METRICS_TOKEN=a\\b',
  'export PORT=1',
])('what programs read differently is refused: %s', (line) => {
  expect(faultsOf(line)).toHaveLength(1)
})

test('each line that is accepted is read as Node reads it', () => {
  const text = fc.string({ unit: fc.constantFrom(...' aA=#"\'`\\$.,/-0\t') })
  fc.assert(
    fc.property(text, (value) => {
      // Node reads a comment of one line as a name, unless it ends.
      const content = `DATA_DIR=${value}\n`
      const { values, faults } = readSettingsFile(write(content))
      if (faults.length === 0) expect(values.get('DATA_DIR')?.text).toBe(parseEnv(content).DATA_DIR)
    }),
    { numRuns: 1_000 },
  )
})

test('a file that can not be read is one sentence', () => {
  const messageOf = (path: string) => {
    const result = readValues(TABLE, [], { SETTINGS_FILE: path })
    return result.ok ? undefined : result.message.split('\n')[1]
  }
  const missing = join(folder, 'missing')
  expect(messageOf(missing)).toBe(`  The settings file ${missing} does not exist.`)
  const inner = join(folder, 'inner')
  mkdirSync(inner)
  expect(messageOf(inner)).toBe(`  The settings file ${inner} is a folder.`)
  write(Buffer.from([0x50, 0xff]))
  expect(messageOf(file)).toBe(`  The settings file ${file} is not UTF-8 text.`)
  write(`#${'x'.repeat(65_535)}`)
  expect(messageOf(file)).toBeUndefined()
  write(`#${'x'.repeat(65_536)}`)
  expect(messageOf(file)).toBe(`  The settings file ${file} is larger than 65536 bytes.`)
  expect(messageOf(' ')).toBeUndefined()
})

test('the settings may come through a pipe', async () => {
  const pipe = join(folder, 'pipe')
  await once(spawn('mkfifo', [pipe]), 'exit')
  const writer = spawn('sh', ['-c', 'echo PORT=7 > "$0"', pipe])
  expect(readValues(TABLE, [], {}, { file: pipe })).toMatchObject({ ok: true, values: { PORT: 7 } })
  await once(writer, 'exit')
})

test.each([
  ['METRICS_TOKEN=x', 0o640, 0],
  ['METRICS_TOKEN=x', 0o644, 1],
  ['PORT=1', 0o644, 0],
  ['PORT=1', 0o602, 1],
  ['METRICS_TOKEN=x', 0o606, 2],
])('a file that others can read or change: %s %o', (content, mode, warnings) => {
  const result = read(content, {}, mode)
  expect(result.ok && result.warnings).toHaveLength(warnings)
})

test('only a variable whose name is nearly that of a setting is a warning', () => {
  const normal = {
    HOME: '/root',
    HOSTNAME: 'a',
    PORTS: '1',
    POST: '1',
    METRICS_PORT_80_TCP: 'tcp://10.0.0.1:80',
    XDG_DATA_DIRS: '/usr',
    LC_ALL: 'C',
    METRIC_TOKEN: '',
  }
  const warningsOf = (env: Record<string, string>) => {
    const result = readValues(TABLE, [], env)
    return result.ok && result.warnings
  }
  expect(warningsOf(normal)).toEqual([])
  expect(
    warningsOf({ ...normal, METRIC_TOKENS: 'secret', data_dir: '/x', SETTINGFILE: 'y' }),
  ).toEqual(
    [
      ['METRIC_TOKENS', 'METRICS_TOKEN'],
      ['data_dir', 'DATA_DIR'],
      ['SETTINGFILE', 'SETTINGS_FILE'],
    ].map(
      ([typed, meant]) =>
        `The variable ${typed} of the environment is not a setting. Did you mean ${meant}?`,
    ),
  )
})
