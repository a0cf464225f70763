import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runProcess } from '../test/command.ts'
import { type GatewayProcess, layOutGateway, send, startProcess } from '../test/gateway.ts'

/** The command line erases while a gateway runs over the same folder, each in a process of its own. */
let folder: string
let dataDir: string
let gateway: GatewayProcess
/** A test sends from one address as fast as the machine can. */
const UNLIMITED = Object.fromEntries(
  ['ADDRESS', 'CUSTOMER'].flatMap((whose) =>
    ['EVENTS', 'BYTES'].flatMap((unit) =>
      ['PER_SECOND', 'BURST'].map((what) => [`${whose}_${unit}_${what}`, '1000000000']),
    ),
  ),
)

beforeAll(async () => {
  folder = layOutGateway()
  dataDir = join(folder, 'data')
  gateway = await startProcess(folder, UNLIMITED)
})
afterAll(async () => {
  await gateway.end('SIGTERM')
  rmSync(folder, { recursive: true })
})

const env = () => ({ DATA_DIR: dataDir })
const person = (verb: string, ...args: readonly string[]) => [
  'person',
  verb,
  '--customer',
  'demo',
  ...args,
]

/** Sends events of a device as a page does. Each is acknowledged when it is on disk. */
async function sendEvents(did: string, count: number, address?: string): Promise<void> {
  const events = Array.from({ length: count }, (_, i) => ({
    id: randomUUID(),
    at: Date.now(),
    payload: {
      event: i === 0 && address ? 'set_email' : 'view_page',
      did,
      url: `https://shop.example/${did}?utm_campaign=autumn-mugs&utm_medium=email&utm_source=newsletter`,
      // Bots are left out of reports.
      http_user_agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
      ...(i === 0 &&
        address && { email_address: address, firstname: did, lastname: did, phone: '' }),
    },
  }))
  const answer = await send(gateway.url, '/t/batch?k=DEMOSHOP', {
    method: 'POST',
    headers: { origin: 'http://localhost:1', 'content-type': 'text/plain' },
    body: JSON.stringify({ sent: Date.now(), events }),
  })
  expect(answer.status).toBe(200)
  const { results } = JSON.parse(answer.text) as { results: { status: number }[] }
  expect(results.map(({ status }) => status)).toEqual(events.map(() => 200))
}

/** The files whose bytes contain the text. */
const filesWith = (text: string) =>
  readdirSync(dataDir).filter((name) => readFileSync(join(dataDir, name)).includes(text))

test('a person is erased from every byte of the folder, and no event of others is refused or lost', async () => {
  const mark = 'mm-erased'
  for (let i = 0; i < 6; i++) {
    await sendEvents(`${mark}-device`, 300, `${mark}@example.org`)
    await sendEvents('other-before', 50)
  }
  // The reports have read all of them.
  const report = async () => {
    const { text } = await send(gateway.url, '/campaigns/data/list')
    const [{ id }] = JSON.parse(text).data
    return send(gateway.url, `/campaigns/data/report?id=${id}`)
  }
  expect((await report()).status).toBe(200)
  expect(filesWith(mark)).not.toEqual([])

  const args = person('erase', '--email', `${mark.toUpperCase()}@example.org`, '--yes')
  const erasing = spawn(process.execPath, [join(folder, 'dist/shoptrail.js'), ...args], {
    env: env(),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let printed = ''
  erasing.stdout.on('data', (chunk) => {
    printed += chunk
  })
  const ended = once(erasing, 'close')
  let sent = 0
  while (erasing.exitCode === null && erasing.signalCode === null) {
    await sendEvents('other-meanwhile', 20)
    sent += 20
  }
  expect(await ended).toEqual([0, null])
  expect(printed).toContain('Removed 1,800 events of 1 device.')
  expect(sent).toBeGreaterThan(0)
  expect(filesWith(mark)).toEqual([])
  expect(filesWith(mark.toUpperCase())).toEqual([])

  const countOf = (did: string) =>
    JSON.parse(runProcess(folder, person('export', '--did', did), env()).stdout).events.length
  expect(countOf('other-before')).toBe(300)
  expect(countOf('other-meanwhile')).toBe(sent)
  expect(JSON.parse((await report()).text)).toMatchObject({ visitors: 2, identified: 0 })
  // The log of the gateway names nobody.
  expect(gateway.output()).not.toContain(mark)
  // Later events of the same device are new.
  await sendEvents(`${mark}-device`, 2)
  expect(countOf(`${mark}-device`)).toBe(2)
})

test('an export is written as it is read, and its exit code says whether it is complete', async () => {
  await sendEvents('export-device', 100, 'export@example.org')
  const { status, stdout, stderr } = runProcess(
    folder,
    person('export', '--email', 'export@example.org'),
    env(),
  )
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(JSON.parse(stdout).events).toHaveLength(100)
  // A reader that goes away ends it.
  const cut = spawn(
    process.execPath,
    [join(folder, 'dist/shoptrail.js'), ...person('export', '--did', 'other-before')],
    { env: env(), stdio: ['ignore', 'pipe', 'pipe'] },
  )
  cut.stdout.destroy()
  const [code] = await once(cut, 'close')
  expect(code).toBe(1)
})
