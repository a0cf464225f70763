import { chmodSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { runCommand, runProcess } from '../test/command.ts'
import { layOutGateway, startProcess } from '../test/gateway.ts'

let folder: string
let file: string
beforeAll(() => {
  folder = layOutGateway()
  file = join(folder, 'settings.env')
})
afterAll(() => rmSync(folder, { recursive: true }))

const TOKEN = 'a-secret-of-20-letters'

function write(content: string, mode = 0o600): void {
  writeFileSync(file, content)
  chmodSync(file, mode)
}

test('settings prints each setting with its source, and no secret', () => {
  write(`METRICS_TOKEN=${TOKEN}\nTRUSTED_PROXIES=10.0.0.1,10.0.0.2\n`)
  const { status, stdout, stderr } = runCommand(['settings', '--settings', file, '--demo'], {
    PORT: '9000',
    SETTINGS_FILE: 'is/not/read',
  })
  expect(status).toBe(0)
  expect(stderr).toBe('')
  const line = (name: string) => new RegExp(`^${name}=(.*?) {2,}(.+)$`, 'm').exec(stdout)?.slice(1)
  expect(line('PORT')).toEqual(['9000', 'environment'])
  expect(line('METRICS_TOKEN')).toEqual(['(secret)', `${file}, line 1`])
  expect(line('TRUSTED_PROXIES')).toEqual(['10.0.0.1, 10.0.0.2', `${file}, line 2`])
  expect(line('DEMO')).toEqual(['on', '--demo'])
  expect(line('PUBLIC_URL')).toEqual(['(none)', 'default'])
  expect(line('DAILY_EVENTS')).toEqual(['10000000', 'default'])
  expect(stdout).not.toContain(TOKEN)
})

test('every command reads the file that SETTINGS_FILE or --settings names', () => {
  write(`DATA_DIR=${join(folder, 'of-file')}\n`)
  const added = runCommand(['customer', 'add', '--origin', 'loopback'], { SETTINGS_FILE: file })
  expect(added.status).toBe(0)
  const id = /customerId +(\S+)/.exec(added.stdout)?.[1]
  expect(runCommand(['customer', 'list', '--settings', file], {}).stdout).toContain(id)
  expect(runCommand(['data', 'accept'], { SETTINGS_FILE: file }).stdout).toContain('of-file')
})

test('a start with faults in the file and in the environment reports all of them', () => {
  write(`PORTS=1\nLOG_LEVEL=loud\nMETRICS_TOKEN=short\n`)
  const result = runProcess(folder, ['start', '--settings', file], { PORT: 'x' })
  expect(result.status).toBe(78)
  expect(result.stderr.split('\n').slice(1, -1)).toEqual([
    `  PORTS (${file}, line 1): There is no such setting. Did you mean PORT?`,
    '  PORT (environment): Expected a port, 0 to 65535',
    `  METRICS_TOKEN (${file}, line 3): Expected 16 to 512 characters of ASCII without white space`,
    `  LOG_LEVEL (${file}, line 2): Expected fatal, error, warn, info, debug, trace or silent`,
  ])
})

test('a gateway starts with the settings of the file, and tells who else can read it', async () => {
  write(`METRICS_TOKEN=${TOKEN}\n`, 0o644)
  const { url, output, process } = await startProcess(folder, {
    SETTINGS_FILE: file,
    METRIC_TOKEN: 'x',
  })
  try {
    const answer = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } })
    expect(answer.status).toBe(200)
    await vi.waitFor(() =>
      expect(output()).toContain(`Every user of this machine can read ${file}`),
    )
    expect(output()).toContain('METRIC_TOKEN of the environment is not a setting')
    expect(output()).not.toContain(TOKEN)
  } finally {
    process.kill('SIGKILL')
  }
})
