import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/**
 * Texts that cause a fault when they reach the worker in a payload or a customer: it throws, exits, runs out of memory,
 * or hangs for two seconds and continues.
 */
export const FAULT = {
  throws: 'FAULT-throws',
  exits: 'FAULT-exits',
  grows: 'FAULT-grows',
  hangs: 'FAULT-hangs',
} as const

/**
 * If a file with the name of the database and this suffix exists, its worker does not start, or ends as soon as it has
 * started.
 */
export const BROKEN = { start: '.does-not-start', run: '.ends-at-once' } as const

const SOURCE = `
import { existsSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
if (existsSync(workerData + '${BROKEN.start}')) throw new Error('It does not start')
parentPort.addEventListener('message', (event) => {
  const { bytes = [] } = event.data.args?.[0] ?? {}
  const text = JSON.stringify(event.data) + Buffer.from(bytes)
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
 * Writes a worker with these faults, which otherwise works like the real one.
 *
 * @param folder The folder that `layOutGateway` has returned.
 */
export function writeFaultyWorker(folder: string): URL {
  const file = join(folder, 'dist/faulty-worker.js')
  writeFileSync(file, SOURCE)
  return pathToFileURL(file)
}

/** Puts the faulty worker in place of the one that the command starts, in a folder of `layOutGateway()`. */
export function putFaultyWorker(folder: string): void {
  const dist = join(folder, 'dist')
  const file = join(dist, 'sqlite-worker.js')
  renameSync(file, join(dist, 'real-worker.js'))
  writeFileSync(file, SOURCE.replace('sqlite-worker.js', 'real-worker.js'))
}
