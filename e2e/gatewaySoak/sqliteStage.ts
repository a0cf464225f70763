import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { mountDisk } from './disk.ts'
import { runCommand, startOwnGateway } from './gateways.ts'
import { countLog } from './log.ts'
import type { Stage, StageOptions } from './stage.ts'

const DISK_BYTES = 768 * 2 ** 20

/** One data folder for both gateways, on a small disk that is full at times. Backups are made meanwhile. */
export async function openSqliteStage({ home, env, random, seen }: StageOptions): Promise<Stage> {
  const disk = mountDisk(join(home, 'disk'), DISK_BYTES)
  if (!disk) console.log('! NO FULL DISK: this process may not mount a file system')
  const dataDir = join(disk?.folder ?? home, 'data')
  const counts = { full: 0, backups: 0 }
  /** The newest backup, and what was acknowledged before it was begun. */
  let backup: { readonly folder: string; readonly before: readonly string[] } | undefined

  async function disturbDisk(isCalm: () => boolean): Promise<void> {
    if (!disk) return
    while (!isCalm()) {
      await sleep(15_000 + random.below(20_000))
      counts.full++
      disk.fill()
      await sleep(1_000 + random.below(8_000))
      disk.free()
    }
  }

  /** Makes backups meanwhile. The newest one is compared at the end. */
  async function backUp(isCalm: () => boolean): Promise<void> {
    while (!isCalm()) {
      await sleep(5_000 + random.below(20_000))
      const folder = join(home, `backup-${counts.backups}`)
      const before = [...seen.acknowledged.keys()]
      try {
        await runCommand(dataDir, ['backup', folder])
      } catch (error) {
        if (!/disk is full/.test(`${error}`)) seen.faults.push(`${error}`)
        rmSync(folder, { recursive: true, force: true })
        continue
      }
      counts.backups++
      if (backup) rmSync(backup.folder, { recursive: true })
      backup = { folder, before }
    }
  }

  /** Restores the newest backup. Returns how many events it lacks that were acknowledged before it was begun. */
  async function countMissingInBackup(): Promise<number> {
    if (!backup) return 0
    const restored = join(home, 'restored')
    await runCommand(restored, ['restore', backup.folder])
    const stored = await countLog(restored)
    return backup.before.filter((id) => !stored.has(id)).length
  }

  return {
    folders: [dataDir],
    counts,
    // One that starts on a full disk waits.
    start: () =>
      startOwnGateway(dataDir, { ...env, DISK_RESERVE_BYTES: random.pick(['0', '8388608']) }),
    command: (args, more) => runCommand(dataDir, args, more),
    disturb: (isCalm) => [disturbDisk(isCalm), backUp(isCalm)],
    async mend() {},
    countLog: () => countLog(dataDir),
    countFaults: async () => ({
      'acknowledged, not in the newest backup': await countMissingInBackup(),
    }),
    async end() {
      disk?.remove()
    },
  }
}
