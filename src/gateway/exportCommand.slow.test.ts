import { spawn } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parquetReadObjects } from 'hyparquet'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { layOutGateway } from '../test/gateway.ts'
import { toCells } from './sqlite/cells.ts'
import { createSqliteCustomers } from './sqlite/customers.ts'
import { openStore } from './sqlite/store.ts'

const EVENTS = 60_000
const BATCH = 5_000
/** A process of Node with the bundle takes some 70 MB of it. */
const MAX_MEMORY_MB = 300

const folder = layOutGateway()
const dataDir = join(folder, 'data')
afterAll(() => rmSync(folder, { recursive: true, force: true }))

beforeAll(() => {
  mkdirSync(dataDir)
  const customers = createSqliteCustomers(join(dataDir, 'customers.db'))
  customers.add({ customerId: 'shop' })
  customers.close()
  const log = openStore(join(dataDir, 'events.db'))
  const text = randomBytes(700).toString('hex')
  for (let done = 0; done < EVENTS; done += BATCH)
    log.append(
      toCells(
        Array.from({ length: BATCH }, (_, i) => ({
          ...{ customer: 'shop', id: randomUUID(), at: done + i, receivedAt: done + i },
          ...{ operation: 'viewProduct', event: 'view_product', did: `d${i}`, bot: false },
          ...{ version: null, payload: JSON.stringify({ number: done + i, text }) },
        })),
      ),
    )
  log.close()
  writeFileSync(
    join(folder, 'peak.mjs'),
    `import { writeFileSync } from 'node:fs'
    process.on('exit', () => writeFileSync(${JSON.stringify(join(folder, 'peak'))}, \`\${process.resourceUsage().maxRSS}\`))`,
  )
}, 600_000)

/** Runs an export as a process. Kills it when its part has grown by so many bytes. */
async function run(format: string, out: string, killAfter = Number.POSITIVE_INFINITY) {
  const part = `${out}.part`
  const begun = statSync(part, { throwIfNoEntry: false })?.size ?? 0
  const peak = pathToFileURL(join(folder, 'peak.mjs')).href
  const command = ['--import', peak, join(folder, 'dist/shoptrail.js'), 'export']
  const child = spawn(
    process.execPath,
    [...command, '--customer', 'shop', '--format', format, '--out', out],
    { env: { DATA_DIR: dataDir }, stdio: 'ignore' },
  )
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const timer = setInterval(() => {
    const size = statSync(part, { throwIfNoEntry: false })?.size ?? 0
    if (size - begun > killAfter) child.kill('SIGKILL')
  }, 1)
  const code = await ended
  clearInterval(timer)
  return code
}

test.each(['ndjson', 'csv', 'parquet'])(
  `${EVENTS} events as %s take bounded memory, and kills change no byte`,
  { timeout: 600_000 },
  async (format) => {
    const whole = join(folder, `whole.${format}`)
    expect(await run(format, whole)).toBe(0)
    expect(Number(readFileSync(join(folder, 'peak'), 'utf8')) / 1024).toBeLessThan(MAX_MEMORY_MB)
    const { size } = statSync(whole)
    const out = join(folder, `killed.${format}`)
    let kills = 0
    while ((await run(format, out, kills < 2 ? (Math.random() * size) / 3 : undefined)) !== 0)
      kills++
    expect(kills).toBe(2)
    expect(existsSync(`${out}.position`)).toBe(false)
    expect(readFileSync(out).equals(readFileSync(whole))).toBe(true)
    if (format !== 'parquet') return
    const file = new Uint8Array(readFileSync(out)).buffer
    const rows = await parquetReadObjects({ file, columns: ['id'] })
    expect(new Set(rows.map(({ id }) => id)).size).toBe(EVENTS)
  },
)
