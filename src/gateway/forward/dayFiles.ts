import { constants } from 'node:fs'
import {
  type FileHandle,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  statfs,
  unlink,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { findMembers, type Member, makeMember, readMember } from './gzipMembers.ts'

/** Rows of events by day, in a folder. */
export type DayFiles = {
  /** Whether a row with this id was written lately: since this was opened, or among the last ones before. */
  has(id: string): boolean
  /**
   * Appends rows to the file of a day. Resolves when they are on the disk. After a rejection the folder must be opened
   * again, since the end of the file is unknown.
   *
   * @param day `2026-11-29`.
   */
  append(day: string, rows: readonly DayRow[]): Promise<void>
  /** Gives the files of days that are over their final names, and deletes those that were kept long enough. */
  tidy(): Promise<void>
}

/** A line without its line break, and the id of its event. */
export type DayRow = { readonly id: string; readonly line: string }

export type DayFilesOptions = {
  /** Created if it is missing. Its parent must exist. */
  readonly folder: string
  /** The folder belongs to one destination: two would mix their events, and damage the files. */
  readonly owner: string
  /** How long a finished file is kept, days after its own. */
  readonly keepDays: number
  /** ms since 1970. */
  readonly now: () => number
  /** Free space of the disk of a folder, and its size, bytes. Default: that of the disk. */
  readonly readSpace?: (folder: string) => Promise<{ readonly left: number; readonly size: number }>
}

const PRIVATE_FILE = 0o600
const PRIVATE_FOLDER = 0o700
const OWNER_FILE = '.destination'
const GROWING = /^(\d{4}-\d\d-\d\d)\.ndjson\.part$/
const FINISHED = /^(\d{4}-\d\d-\d\d)(?:-\d+)?\.ndjson\.gz$/
/** A finished file, or the empty one that says that there was one of this name. */
const KEPT = /^\.?(\d{4}-\d\d-\d\d)(?:-\d+)?\.(?:ndjson\.gz|used)$/

const DAY_MS = 86_400_000
/** A day's file is finished when its day has been over for so long, and nothing was added for so long, ms. */
export const QUIET_MS = 10 * 60_000
/** The ids of the last members of a file are remembered: the last batch has one, or one in each of two files. */
const REMEMBERED_MEMBERS = 8
const REMEMBERED_IDS = 10_000

/**
 * Free space that files do not use: 256 MiB, or a twentieth of a smaller disk. It is half of what events leave free by
 * default, so a destination that is behind can still catch up then, and the databases have room.
 */
const RESERVE = { bytes: 256 * 2 ** 20, part: 1 / 20 }

/** The day (UTC) of a time, as in the names of files. */
export const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

/** Another destination writes to the folder. */
export class FolderTaken extends Error {}

/**
 * Opens a folder of files by day. A day's file is `DAY.ndjson.part` while it grows and `DAY.ndjson.gz` when it is
 * finished; more events of a finished day get `DAY-2.ndjson.gz`, so that a finished file never changes. The rest of a
 * write that was broken off is removed.
 *
 * @throws FolderTaken, or an error of the file system.
 */
export async function openDayFiles(options: DayFilesOptions): Promise<DayFiles> {
  const { folder, owner, keepDays, now, readSpace = spaceOf } = options
  const pathOf = (name: string) => join(folder, name)
  const growing = new Map<string, { bytes: number; changedAt: number }>()
  const ids = new Set<string>()
  let tidied = ''

  await makeFolder()
  await claim()
  const names = await readdir(folder)
  // The newest finished file too: the last batch may be in it.
  const newest = names
    .filter((name) => FINISHED.test(name))
    .sort(byAge)
    .at(-1)
  if (newest) await recover(newest)
  for (const name of names.filter((name) => GROWING.test(name)).sort()) {
    const bytes = await recover(name)
    growing.set(GROWING.exec(name)?.[1] as string, { bytes, changedAt: now() })
  }

  async function makeFolder(): Promise<void> {
    try {
      await mkdir(folder, { mode: PRIVATE_FOLDER })
      await syncFolder(join(folder, '..'))
    } catch (error) {
      if (!hasCode(error, 'EEXIST')) throw error
    }
  }

  async function claim(): Promise<void> {
    const file = pathOf(OWNER_FILE)
    try {
      await writeFile(file, owner, { flag: 'wx', mode: PRIVATE_FILE })
    } catch (error) {
      if (!hasCode(error, 'EEXIST')) throw error
      const other = await readFile(file, 'utf8')
      if (other === owner) return
      // A crash between creating and writing it leaves it empty.
      if (other !== '')
        throw new FolderTaken(
          `The folder belongs to destination ${other.slice(0, 64)}. Choose another one, or delete ${OWNER_FILE} in it if that destination is gone`,
        )
      await writeFile(file, owner, { mode: PRIVATE_FILE })
    }
  }

  /**
   * Remembers the last ids of a file. Cuts a growing file after its last complete member.
   *
   * @returns The length of the file, bytes.
   */
  async function recover(name: string): Promise<number> {
    const isGrowing = GROWING.test(name)
    return await use(pathOf(name), isGrowing ? 'r+' : 'r', async (file) => {
      const members = [...(await findMembers(file))]
      const texts: string[] = []
      for (const member of members.slice(-REMEMBERED_MEMBERS)) {
        const text = await readMember(file, member)
        // Only the last write can be damaged: each is on the disk before the next one.
        if (text === undefined) members.splice(members.indexOf(member))
        else texts.push(text)
      }
      for (const text of texts) for (const line of text.trimEnd().split('\n')) remember(idOf(line))
      const bytes = endOf(members.at(-1))
      if (isGrowing && (await file.stat()).size > bytes) {
        await file.truncate(bytes)
        await file.sync()
      }
      return bytes
    })
  }

  function remember(id: string): void {
    ids.add(id)
    if (ids.size > REMEMBERED_IDS) ids.delete(ids.values().next().value as string)
  }

  async function append(day: string, rows: readonly DayRow[]): Promise<void> {
    const name = `${day}.ndjson.part`
    const state = growing.get(day)
    const { left, size } = await readSpace(folder)
    if (left < Math.min(RESERVE.bytes, size * RESERVE.part))
      throw new Error('The disk is nearly full. What is left is for the databases')
    const member = await makeMember(rows.map(({ line }) => `${line}\n`).join(''))
    const flags = constants.O_RDWR | (state ? 0 : constants.O_CREAT | constants.O_EXCL)
    await use(pathOf(name), flags, async (file) => {
      const { size } = await file.stat()
      if (size !== (state?.bytes ?? 0)) throw new Error(`${name} was changed by somebody else`)
      for (let done = 0; done < member.length; )
        done += (await file.write(member, done, member.length - done, size + done)).bytesWritten
      await file.sync()
    })
    if (!state) await syncFolder(folder)
    growing.set(day, { bytes: (state?.bytes ?? 0) + member.length, changedAt: now() })
    for (const { id } of rows) remember(id)
  }

  async function tidy(): Promise<void> {
    for (const [day, { changedAt }] of growing) {
      const quietSince = Math.max(Date.parse(day) + DAY_MS, changedAt)
      if (now() - quietSince < QUIET_MS) continue
      const name = await finalName(day)
      // Somebody may take the file away, and expects no other one of its name.
      await use(pathOf(`.${name}.used`), 'a', (file) => file.sync())
      await rename(pathOf(`${day}.ndjson.part`), pathOf(`${name}.ndjson.gz`))
      await syncFolder(folder)
      growing.delete(day)
    }
    const today = dayOf(now())
    if (today === tidied) return
    const oldest = dayOf(now() - keepDays * DAY_MS)
    for (const name of await readdir(folder)) {
      const day = KEPT.exec(name)?.[1]
      if (day !== undefined && day < oldest) await unlink(pathOf(name))
    }
    tidied = today
  }

  /**
   * A finished file is never replaced, nor its name used again: somebody may have taken it already.
   *
   * @returns `2026-11-29`, or `2026-11-29-2`.
   */
  async function finalName(day: string): Promise<string> {
    const taken = new Set(await readdir(folder))
    const isTaken = (name: string) => taken.has(`${name}.ndjson.gz`) || taken.has(`.${name}.used`)
    let name = day
    for (let n = 2; isTaken(name); n++) name = `${day}-${n}`
    return name
  }

  return { has: (id) => ids.has(id), append, tidy }
}

const hasCode = (error: unknown, code: string): boolean =>
  (error as NodeJS.ErrnoException).code === code

const endOf = (member: Member | undefined): number => (member ? member.offset + member.length : 0)

/** `2026-11-29` before `2026-11-29-2` before `2026-11-29-10`. */
const byAge = (a: string, b: string): number => a.localeCompare(b, 'en', { numeric: true })

const idOf = (line: string): string => (JSON.parse(line) as { readonly id: string }).id

async function use<T>(
  path: string,
  flags: string | number,
  act: (file: FileHandle) => Promise<T>,
): Promise<T> {
  const file = await open(path, flags, PRIVATE_FILE)
  try {
    return await act(file)
  } finally {
    await file.close()
  }
}

async function spaceOf(folder: string) {
  const { bavail, blocks, bsize } = await statfs(folder)
  return { left: bavail * bsize, size: blocks * bsize }
}

/** Makes a new or changed name in a folder durable. */
const syncFolder = (folder: string): Promise<void> => use(folder, 'r', (file) => file.sync())
