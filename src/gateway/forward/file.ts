import { isAbsolute } from 'node:path'
import {
  check,
  type InferOutput,
  integer,
  maxValue,
  minValue,
  number,
  optional,
  pipe,
  string,
} from 'valibot'
import { isBounded } from '../../contract/fields.ts'
import { type DayFiles, dayOf, FolderTaken, openDayFiles } from './dayFiles.ts'
import { eventJson } from './eventJson.ts'
import type { Delivery, ForwardEvent, Kind, Sender, SenderDependencies } from './kind.ts'
import { settingsObject } from './settingsObject.ts'

/** The most events of one write. */
const MAX_EVENTS = 500
/** How often days that are over are looked for, ms. */
const TIDY_MS = 60_000
/** How long finished files are kept by default, and at most, days. */
const KEEP_DAYS = { usual: 30, max: 3_650 }

const FOLDER = 'Expected the absolute path of a folder, such as /var/lib/warehouse/in'
const DAYS = `Expected a number of days from 1 to ${KEEP_DAYS.max}`

const settings = settingsObject({
  /** Default: a folder of this destination in the data folder. */
  folder: optional(
    pipe(
      string(FOLDER),
      check((text) => isBounded(text) && isAbsolute(text) && !text.includes('\0'), FOLDER),
    ),
  ),
  /** How long a finished file is kept. */
  keepDays: optional(
    pipe(number(DAYS), integer(DAYS), minValue(1, DAYS), maxValue(KEEP_DAYS.max, DAYS)),
  ),
})

type FileSettings = InferOutput<typeof settings>

/** Lines of JSON in one gzip file a day (UTC, by arrival), for a warehouse to take. */
export const file: Kind<FileSettings> = {
  name: 'file',
  settings,
  secrets: [],
  maxEvents: MAX_EVENTS,
  describe: ({ folder }) => folder ?? 'its folder in the data folder',
  open: createFileSender,
}

function createFileSender(
  { folder, keepDays = KEEP_DAYS.usual }: FileSettings,
  { destinationId, folder: ownFolder, now }: SenderDependencies,
): Sender {
  const options = { folder: folder ?? ownFolder, owner: destinationId, keepDays, now }
  let files: DayFiles | undefined
  /** Writes one after the other, also when an attempt is ended while the disk hangs. */
  let last: Promise<unknown> = Promise.resolve()
  const timer = setInterval(() => queue(tidy), TIDY_MS)
  timer.unref()

  function queue<T>(act: () => Promise<T>): Promise<T> {
    const done = last.then(act)
    last = done.catch(() => {})
    return done
  }

  /** Runs with the opened folder. After an error it is opened again, which repairs what was written by halves. */
  async function withFiles(act: (files: DayFiles) => Promise<void>): Promise<string | undefined> {
    try {
      files ??= await openDayFiles(options)
      await act(files)
      return undefined
    } catch (error) {
      files = undefined
      return explain(error)
    }
  }

  // What is wrong with the folder is told by the next event that can not be written.
  const tidy = () => withFiles((files) => files.tidy())

  async function write(
    events: readonly ForwardEvent[],
    signal: AbortSignal,
  ): Promise<readonly Delivery[]> {
    const written = new Set<ForwardEvent>()
    const fault = await withFiles(async (files) => {
      await files.tidy()
      for (const event of events) if (files.has(event.id)) written.add(event)
      for (const [day, group] of groupByDay(events.filter((event) => !written.has(event)))) {
        if (signal.aborted) return
        await files.append(
          day,
          group.map((event) => ({ id: event.id, line: eventJson(event) })),
        )
        for (const event of group) written.add(event)
      }
    })
    return events.map((event) =>
      written.has(event) ? { status: 'delivered' } : { status: 'failed', reason: fault ?? ENDED },
    )
  }

  function send(
    events: readonly ForwardEvent[],
    signal: AbortSignal,
  ): Promise<readonly Delivery[]> {
    return new Promise((resolve, reject) => {
      const end = () => resolve(events.map(() => ({ status: 'failed', reason: ENDED })))
      signal.addEventListener('abort', end)
      queue(() => write(events, signal))
        .finally(() => signal.removeEventListener('abort', end))
        .then(resolve, reject)
    })
  }

  return {
    send,
    async close() {
      clearInterval(timer)
      await last
    },
  }
}

const ENDED = 'The attempt was ended'

/** Events by the day of their arrival, in order. */
function groupByDay(events: readonly ForwardEvent[]): Map<string, ForwardEvent[]> {
  const days = new Map<string, ForwardEvent[]>()
  for (const event of events) {
    const day = dayOf(event.receivedAt)
    const group = days.get(day)
    if (group) group.push(event)
    else days.set(day, [event])
  }
  return days
}

const REASONS: Readonly<Record<string, string>> = {
  ENOSPC: 'The disk is full',
  EDQUOT: 'The disk quota is used up',
  EACCES: 'The gateway may not write to the folder',
  EPERM: 'The gateway may not write to the folder',
  EROFS: 'The folder can not be written to',
  ENOENT: 'The folder, or the folder above it, does not exist',
  ENOTDIR: 'The folder is not a folder',
}

function explain(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (error instanceof FolderTaken || code === undefined) return message
  return `${REASONS[code] ?? 'The folder can not be used'} (${code})`
}
