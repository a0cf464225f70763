import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import type { Worked } from './backupCommand.ts'
import { findMismatch } from './dataCommand.ts'
import type { CreateEncoder, Encoder, Written } from './export/format.ts'
import { FORMATS } from './export/formats.ts'
import { runExport, type Selection } from './export/runExport.ts'
import { createStreamSink, openFileSink, positionFileOf, type Sink } from './export/sink.ts'
import type { Source } from './export/source.ts'
import { openSqliteSource } from './export/sqliteSource.ts'
import { openExportState } from './export/state.ts'
import { LOG_OPERATIONS } from './forward/operations.ts'
import { type Read, readTime } from './forwardCommand/readOptions.ts'
import { type Fault, misused } from './lib/command.ts'
import { printError } from './lib/printable.ts'
import { suggest } from './lib/suggest.ts'
import type { NatsOptions } from './nats/natsOptions.ts'
import type { Settings } from './settings.ts'
import { syncPath } from './sqlite/backup/durable.ts'
import { prepareDataFolder } from './sqlite/dataFolder.ts'

/** Options of `shoptrail export`, as they were typed. */
export type ExportOptions = {
  readonly customer?: string | undefined
  readonly format?: string | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly operation?: string[] | undefined
  readonly out?: string | undefined
}

export const EXPORT_OPTIONS = ['customer', 'format', 'from', 'to', 'operation', 'out']

/** The process of the command. */
export type Terminal = {
  readonly stdout: NodeJS.WritableStream & { readonly isTTY?: boolean }
  /** Prints a line about how far it is. */
  readonly report: (line: string) => void
  /** Ends the export; the same command continues it. */
  readonly signal: AbortSignal
  /** Records of a group. Default: see runExport. */
  readonly groupRecords?: number
}

type Request = Selection & {
  readonly customer: string
  readonly format: string
  readonly out: string | undefined
}

/** Exit code after Ctrl-C, as shells have it. */
const INTERRUPTED = 130
/** Time between two lines about how far it is, ms. */
const REPORT_MS = 5_000

/**
 * `export`: writes the events of a customer to a file or to stdout, for analysts. The gateway may be running.
 *
 * @param terminal Default: that of this process.
 * @returns What runs it.
 */
export function prepareExport(
  options: ExportOptions,
  settings: Settings,
  terminal?: Terminal,
): Fault | (() => Promise<Worked>) {
  const request = readRequest(options)
  if (!request.ok) return request
  const isTerminal = (terminal?.stdout ?? process.stdout).isTTY
  if (!request.value.out && isTerminal && request.value.format !== 'ndjson')
    return misused(
      `${request.value.format} is not for a terminal. Name a file: --out FILE, or redirect the output: > FILE`,
    )
  return async () => {
    try {
      return await exportEvents(request.value, settings, terminal ?? ownTerminal())
    } catch (error) {
      return { code: 1, lines: [], errors: [(error as Error).message] }
    }
  }
}

function ownTerminal(): Terminal {
  const stop = new AbortController()
  // Once: a second Ctrl-C ends the process, and nothing is lost.
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => stop.abort(signal))
  return {
    stdout: process.stdout,
    report: (line) => printError([line]),
    signal: stop.signal,
  }
}

function readRequest(options: ExportOptions): Read<Request> {
  const { customer, format, out, operation } = options
  if (!customer) return misused('Expected the id of a customer: --customer ID')
  const formats = [...FORMATS.keys()]
  if (!format || !FORMATS.has(format))
    return misused(
      `Expected --format ${formats.join(', ')}${format ? `: ${format}.${suggest(format, formats)}` : ''}`,
    )
  const from = readBound('from', options.from, 'beginning')
  if (!from.ok) return from
  const to = readBound('to', options.to, 'end')
  if (!to.ok) return to
  const isAll = operation?.join() === 'all'
  const unknown = isAll
    ? undefined
    : operation?.find((name) => !(LOG_OPERATIONS as readonly string[]).includes(name))
  if (unknown !== undefined)
    return misused(
      `There is no operation ${unknown}. Expected one of ${['all', ...LOG_OPERATIONS].join(', ')}.${suggest(unknown, LOG_OPERATIONS)}`,
    )
  return {
    ok: true,
    value: {
      ...{ customer, format, out, from: from.value, to: to.value },
      operations: isAll ? undefined : operation,
    },
  }
}

/** @param all The word for no bound. */
function readBound(
  option: string,
  text: string | undefined,
  all: string,
): Read<number | undefined> {
  if (text === undefined || text === all) return { ok: true, value: undefined }
  const time = readTime(text)
  return time === undefined
    ? misused(
        `Expected --${option} as ${all} or a time such as 2026-11-29 or 2026-11-29T08:00Z: ${text}`,
      )
    : { ok: true, value: time }
}

async function exportEvents(
  request: Request,
  settings: Settings,
  terminal: Terminal,
): Promise<Worked> {
  const { out } = request
  const source = await openSource(request.customer, settings)
  try {
    return await (out
      ? exportToFile(request, resolve(out), source, terminal)
      : exportToStream(request, source, terminal))
  } finally {
    await source.close()
  }
}

/** @throws Error if the data can not be opened, or has no such customer. */
async function openSource(customer: string, { dataDir, cluster }: Settings): Promise<Source> {
  const folder = resolve(dataDir)
  const source = cluster ? await openCluster(customer, cluster) : openFolder(folder, customer)
  // An empty export for a mistyped id would be wrong.
  if (await source?.isKnown()) return source as Source
  await source?.close()
  throw new Error(`There is no customer ${customer} in ${cluster ? 'the cluster' : folder}`)
}

/** Loads the client of NATS only here, since every start of a gateway loads this module. */
async function openCluster(customer: string, cluster: NatsOptions): Promise<Source> {
  const [{ connectBroker }, { openNatsSource }] = await Promise.all([
    import('./nats/broker.ts'),
    import('./export/natsSource.ts'),
  ])
  return openNatsSource(await connectBroker(cluster), customer)
}

/** Undefined if a gateway was never started over the folder. */
function openFolder(folder: string, customer: string): Source | undefined {
  prepareDataFolder(folder)
  const mismatch = findMismatch(folder)
  if (mismatch) throw new Error(mismatch)
  const files = ['customers.db', 'events.db'].map((name) => join(folder, name))
  if (!files.every((file) => existsSync(file))) return undefined
  const [customersFile, eventsFile] = files as [string, string]
  return openSqliteSource(customersFile, eventsFile, customer)
}

async function exportToFile(
  request: Request,
  file: string,
  source: Source,
  terminal: Terminal,
): Promise<Worked> {
  const [part, position] = [`${file}.part`, positionFileOf(`${file}.part`)]
  // After a kill between the two last steps of an export, only its position is left.
  const isContinued = existsSync(position)
  const taken = [file, part].filter((path) => existsSync(path))
  if (isContinued ? taken.length > 1 : taken.length > 0)
    throw new Error(`${taken.join(' and ')} exists already. Remove it, or choose another name`)
  const { out: _, ...rest } = request
  const state = openExportState(position, JSON.stringify(rest))
  let sink: Sink | undefined
  try {
    const progress = state.progress()
    if (existsSync(file)) {
      state.remove()
      return { code: 0, lines: [], errors: [complete(progress?.events ?? 0, file)] }
    }
    if (progress && !(await source.isOf(progress.mark)))
      throw new Error(
        `The log is another one than when this export was interrupted. Remove ${part} and ${position} to begin anew`,
      )
    if (progress) terminal.report(`Continues after ${counted(progress.events)}.`)
    sink = openFileSink(part, progress?.bytes ?? 0)
    const { events, isComplete } = await runExport({
      ...{ source, state, sink, selection: request },
      encoder: encoderOf(
        request.format,
        progress && { bytes: progress.bytes, footers: state.footers() },
      ),
      ...watch(terminal),
    })
    if (!isComplete) {
      state.close()
      return {
        code: INTERRUPTED,
        lines: [],
        errors: [`Interrupted. The same command continues after ${counted(events)}.`],
      }
    }
    sink.close()
    sink = undefined
    renameSync(part, file)
    syncPath(dirname(file))
    state.remove()
    return { code: 0, lines: [], errors: [complete(events, file)] }
  } catch (error) {
    state.close()
    throw error
  } finally {
    sink?.close()
  }
}

async function exportToStream(
  request: Request,
  source: Source,
  terminal: Terminal,
): Promise<Worked> {
  const folder = mkdtempSync(join(tmpdir(), 'shoptrail-export-'))
  const state = openExportState(join(folder, 'position'), '')
  try {
    const { events, isComplete } = await runExport({
      ...{ source, state, sink: createStreamSink(terminal.stdout), selection: request },
      encoder: encoderOf(request.format),
      ...watch(terminal),
    })
    return isComplete
      ? { code: 0, lines: [], errors: [complete(events)] }
      : {
          code: INTERRUPTED,
          lines: [],
          errors: [
            `Interrupted after ${counted(events)}: the output is incomplete. With --out FILE the same command would continue.`,
          ],
        }
  } catch (error) {
    throw new Error(`The output is incomplete: ${(error as Error).message}`, { cause: error })
  } finally {
    state.remove()
    rmSync(folder, { recursive: true, force: true })
  }
}

const encoderOf = (format: string, written?: Written): Encoder =>
  (FORMATS.get(format) as CreateEncoder)(written)

function watch({ report, signal, groupRecords }: Terminal) {
  let last = performance.now()
  return {
    signal,
    ...(groupRecords !== undefined && { groupRecords }),
    onProgress(events: number) {
      if (performance.now() - last < REPORT_MS) return
      last = performance.now()
      report(`${counted(events)} so far`)
    },
  }
}

const counted = (events: number): string =>
  `${events.toLocaleString('en')} event${events === 1 ? '' : 's'}`
const complete = (events: number, file?: string): string =>
  `Exported ${counted(events)}${file ? ` to ${file}` : ''}.`
