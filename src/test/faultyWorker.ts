import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/**
 * What the faulty thread does when a text of these reaches it, in a payload or a customer: it ends by an error,
 * by itself, without memory, or it hangs for two seconds and goes on.
 */
export const FAULT = {
  throws: 'FAULT-throws',
  exits: 'FAULT-exits',
  grows: 'FAULT-grows',
  hangs: 'FAULT-hangs',
} as const

/** Beside a database, with this behind its name: its thread does not start, or ends as soon as it has. */
export const BROKEN = { start: '.does-not-start', run: '.ends-at-once' } as const

const SOURCE = `
import { existsSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
if (existsSync(workerData + '${BROKEN.start}')) throw new Error('It does not start')
parentPort.addEventListener('message', (event) => {
  const text = JSON.stringify(event.data)
  if (text.includes('${FAULT.throws}')) {
    event.stopImmediatePropagation()
    throw new Error('A bug')
  }
  if (text.includes('${FAULT.exits}')) process.exit(7)
  if (text.includes('${FAULT.grows}')) for (const kept = []; ; ) kept.push(Array(100_000).fill(kept.length + 0.5))
  if (text.includes('${FAULT.hangs}')) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_000)
})
await import('./sqlite-worker.js')
if (existsSync(workerData + '${BROKEN.run}')) throw new Error('It ends at once')
`

/**
 * Writes a worker that has these faults and otherwise is the real one.
 *
 * @param folder Of `layOutGateway()`.
 */
export function writeFaultyWorker(folder: string): URL {
  const file = join(folder, 'dist/faulty-worker.js')
  writeFileSync(file, SOURCE)
  return pathToFileURL(file)
}

/** Replaces the worker that the command starts with the same faulty one, in a folder of `layOutGateway()`. */
export function putFaultyWorker(folder: string): void {
  const dist = join(folder, 'dist')
  const file = join(dist, 'sqlite-worker.js')
  renameSync(file, join(dist, 'real-worker.js'))
  writeFileSync(file, SOURCE.replace('sqlite-worker.js', 'real-worker.js'))
}
