import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'

/** A file of a doctor that was killed has no effect after this time, ms. */
const MAX_AGE_MS = 300_000
const NONCE = /^[\da-f]{64}$/
const FILE = /^doctor-[\da-f]{64}\.nonce$/

/** The hash is in the name of the file, so a stranger's guess costs the gateway one look for a file. */
const fileOf = (folder: string, nonce: string): string =>
  join(folder, `doctor-${createHash('sha256').update(nonce).digest('hex')}.nonce`)

/**
 * Leaves a secret in the data folder, for one question to its gateway. `remove` ends it.
 *
 * @throws Error if the folder can not be written.
 */
export function leaveNonce(folder: string): { readonly nonce: string; remove(): void } {
  for (const name of readdirSync(folder).filter((name) => FILE.test(name))) {
    const old = statSync(join(folder, name), { throwIfNoEntry: false })
    if (old && Date.now() - old.mtimeMs > MAX_AGE_MS) rmSync(join(folder, name), { force: true })
  }
  const nonce = randomBytes(32).toString('hex')
  const file = fileOf(folder, nonce)
  writeFileSync(file, '', { flag: 'wx', mode: 0o600 })
  return { nonce, remove: () => rmSync(file, { force: true }) }
}

/** Whether a secret was left in the folder in the last minutes. */
export async function isLeft(folder: string, nonce: string): Promise<boolean> {
  if (!NONCE.test(nonce)) return false
  const found = await stat(fileOf(folder, nonce)).catch(() => undefined)
  return found !== undefined && Date.now() - found.mtimeMs <= MAX_AGE_MS
}
