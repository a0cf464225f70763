import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { error, type Found, note, ok, warning } from './finding.ts'

const TIMES = 50
/** A page of SQLite, bytes. */
const PAGE_BYTES = 4_096
/** No disk is faster, with or without a battery, ms. */
const TOO_FAST_MS = 0.02
/** Above these an event waits noticeably for its answer, ms. */
const SLOW_MS = 20
const SLOW_TAIL_MS = 100

/** How long the disk takes to keep a page, ms. */
export function measureSync(folder: string, times = TIMES): readonly number[] {
  const file = join(folder, `doctor-${process.pid}.sync-test`)
  const page = Buffer.alloc(PAGE_BYTES, 1)
  const descriptor = openSync(file, 'wx', 0o600)
  try {
    return Array.from({ length: times }, () => {
      writeSync(descriptor, page)
      const begun = performance.now()
      fdatasyncSync(descriptor)
      return performance.now() - begun
    })
  } finally {
    closeSync(descriptor)
    rmSync(file)
  }
}

/** Measures how fast the disk makes a commit durable. */
export function checkDisk(folder: string, measure = measureSync): Found[] {
  let took: readonly number[]
  try {
    took = [...measure(folder)].sort((a, b) => a - b)
  } catch (failure) {
    return [
      error(
        `Nothing can be written and synced in ${folder}: ${(failure as Error).message}`,
        'Free space on its disk, or mount it for writing',
      ),
    ]
  }
  const at = (share: number) => took[Math.ceil(took.length * share) - 1] ?? 0
  const [p50, p99] = [at(0.5), at(0.99)]
  const figures = `${took.length} syncs of the disk: p50 ${shown(p50)}, p99 ${shown(p99)}`
  const meaning = `An event is acknowledged after one sync, or two while another commit runs. About ${Math.floor(1_000 / Math.max(p50, 0.001)).toLocaleString('en')} commits a second, each with up to 512 events`
  if (p50 > SLOW_MS || p99 > SLOW_TAIL_MS)
    return [
      warning(
        `${figures}. The disk is slow. ${meaning}`,
        'Use a local SSD or NVMe disk, or one that other programs do not use at the same time',
      ),
    ]
  if (p50 < TOO_FAST_MS)
    return [
      note(
        `${figures}. So fast that it probably keeps nothing: memory, or a virtual disk that ignores syncs. A power cut may lose acknowledged events`,
        'Check the cache mode of the virtual disk',
      ),
    ]
  return [ok(`${figures}. ${meaning}`)]
}

const shown = (ms: number): string => `${ms < 10 ? ms.toFixed(2) : Math.round(ms)} ms`
