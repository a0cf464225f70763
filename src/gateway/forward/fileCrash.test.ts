import { spawn } from 'node:child_process'
import { appendFileSync, copyFileSync, rmSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { build } from 'esbuild'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readSeqs } from '../../test/dayFile.ts'
import { makeForwardEvent } from '../../test/forwardEvents.ts'
import { makeFolder } from '../../test/gateway.ts'
import { file } from './file.ts'
import type { Delivery } from './kind.ts'

/** Files by day after writes that were broken off. */
const NOON = Date.UTC(2026, 10, 29, 12)
const PART = '2026-11-29.ndjson.part'

let base: string
let folder: string

beforeEach(() => {
  base = makeFolder()
  folder = join(base, 'out')
})
afterEach(() => rmSync(base, { recursive: true, force: true }))

/** Sends events with the numbers, with a sender that has just been opened. */
async function send(from: number, to: number): Promise<readonly Delivery[]> {
  const sender = file.open(
    {},
    {
      destinationId: 'f1',
      customer: 'acme',
      refundStatuses: () => [],
      folder,
      fetch,
      now: () => NOON,
    },
  )
  const events = Array.from({ length: to - from + 1 }, (_, i) =>
    makeForwardEvent(from + i, { receivedAt: NOON }),
  )
  const deliveries = await sender.send(events, new AbortController().signal)
  await sender.close()
  return deliveries
}

const seqs = (name: string): number[] => readSeqs(join(folder, name))
const range = (to: number): number[] => Array.from({ length: to }, (_, i) => i + 1)

test.each(['cut', 'without its data'])('a write is repaired wherever it is %s', async (how) => {
  await send(1, 2)
  const whole = statSync(join(folder, PART)).size
  await send(3, 4)
  const copy = join(base, 'copy')
  copyFileSync(join(folder, PART), copy)
  const { size } = statSync(copy)
  for (let end = whole; end < size; end += 7) {
    copyFileSync(copy, join(folder, PART))
    truncateSync(join(folder, PART), end)
    if (how !== 'cut') appendFileSync(join(folder, PART), Buffer.alloc(size - end))
    expect(await send(3, 5)).toEqual(Array(3).fill({ status: 'delivered' }))
    expect(seqs(PART)).toEqual(range(5))
  }
})

test('a write is repaired after kills of the process', { timeout: 60_000 }, async () => {
  await bundleSender()
  let cursor = 0
  for (let round = 0; round < 6; round++) cursor = await runSender(cursor, 3 + round)
  cursor = await runSender(cursor, Number.POSITIVE_INFINITY)
  expect(cursor).toBe(TOTAL)
  expect(seqs(PART)).toEqual(range(TOTAL))
})

test('a write is repaired after the disk had no room for it', async () => {
  await bundleSender()
  // A limit of the size of files breaks a write off like a full disk.
  const cursor = await runSender(0, Number.POSITIVE_INFINITY, 'ulimit -f 8; exec "$@"')
  expect(cursor).toBeGreaterThan(0)
  expect(cursor).toBeLessThan(TOTAL)
  expect(await runSender(cursor, Number.POSITIVE_INFINITY)).toBe(TOTAL)
  expect(seqs(PART)).toEqual(range(TOTAL))
})

const TOTAL = 700

/** A process that sends events in batches, and prints after each how many have been delivered. */
async function bundleSender(): Promise<void> {
  await build({
    stdin: {
      contents: `
          import { openDayFiles } from './dayFiles.ts'
import { file } from './file.ts'
          import { makeForwardEvent } from '../../test/forwardEvents.ts'
          const [, , folder, from] = process.argv
          const sender = file.open({}, { destinationId: 'f1', customer: 'acme', refundStatuses: () => [], folder, now: () => ${NOON} })
          const receivedAt = ${NOON}
          for (let cursor = Number(from); cursor < ${TOTAL}; ) {
            const count = Math.min(7, ${TOTAL} - cursor)
            const events = Array.from({ length: count }, (_, i) => makeForwardEvent(cursor + i + 1, { receivedAt }))
            const results = await sender.send(events, new AbortController().signal)
            if (results.some(({ status }) => status !== 'delivered')) throw new Error(results[0].reason)
            cursor += count
            console.log(cursor)
          }
          await sender.close()`,
      resolveDir: __dirname,
      loader: 'ts',
    },
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile: join(base, 'sender.mjs'),
    logLevel: 'warning',
  })
}

/**
 * Runs the process from a cursor, and kills it after some batches.
 *
 * @returns The last cursor that it has printed.
 */
async function runSender(from: number, batches: number, shell = 'exec "$@"'): Promise<number> {
  const program = [process.execPath, join(base, 'sender.mjs'), folder, `${from}`]
  const child = spawn('bash', ['-c', shell, 'bash', ...program], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let cursor = from
  let seen = 0
  for await (const line of createInterface(child.stdout)) {
    cursor = Number(line)
    if (++seen === batches) child.kill('SIGKILL')
  }
  return cursor
}
