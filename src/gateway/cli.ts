import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import {
  prepareBackup,
  prepareRestore,
  prepareUpgrade,
  RESTORE_OPTIONS,
  type Worked,
} from './backupCommand.ts'
import { CHECK_OPTIONS, prepareCheck } from './checkCommand.ts'
import { HELP } from './cliHelp.ts'
import { onCluster, refuseOnCluster } from './clusterCommand.ts'
import { runCustomer, VERBS } from './customerCommand.ts'
import { acceptData, DATA_VERBS } from './dataCommand.ts'
import { DOCTOR_OPTIONS, prepareDoctor } from './doctorCommand.ts'
import { EXPORT_OPTIONS, prepareExport } from './exportCommand.ts'
import { FORWARD_VERBS, runForward } from './forwardCommand.ts'
import { suggest } from './lib/suggest.ts'
import { version } from './lib/version.ts'
import { MOVE_OPTIONS, prepareMove } from './moveCommand.ts'
import type { NatsOptions } from './nats/natsOptions.ts'
import { PERSON_VERBS, runPerson } from './personCommand.ts'
import type { GivenSettings } from './settings/readValues.ts'
import { readSettings, type Settings } from './settings.ts'
import { listSettings } from './settingsCommand.ts'
import { needsData, runSnippet, SNIPPET_OPTIONS } from './snippetCommand.ts'
import { findDriverFault } from './sqlite/driver.ts'
import { refuseMirrored } from './sqlite/mirrorRows.ts'

/** Exit codes as sysexits.h has them. */
const EX_USAGE = 64
const EX_UNAVAILABLE = 69
const EX_CONFIG = 78

/** Folder of the build, which is that of this bundle. */
const SCRIPT_FOLDER = fileURLToPath(new URL('.', import.meta.url))

const NOTHING_TO_FOLLOW =
  'With SQLite there is nothing to follow: shoptrail start does everything. To follow a cluster, set ENGINE=nats://…'

/** The result of a command line: the settings of a gateway to start, or the output and the exit code. */
export type Outcome =
  | {
      readonly start: Settings
      /** The cluster to follow, without a gateway. Undefined: a gateway is started. */
      readonly followOnly?: NatsOptions
      readonly work?: never
      /** For stderr, before the start. */
      readonly warnings: readonly string[]
    }
  | {
      readonly start?: never
      readonly work?: never
      /** A long text for stdout, made while it is written. Then the exit code is 0, or 1 if making it fails. */
      readonly pieces: Iterable<string>
    }
  | {
      readonly start?: never
      readonly pieces?: never
      /** What takes a while. Never rejects. */
      readonly work: () => Promise<Worked>
    }
  | {
      readonly start?: never
      readonly pieces?: never
      readonly work?: never
      readonly code: number
      readonly stdout: readonly string[]
      readonly stderr: readonly string[]
    }

/**
 * Runs a command line. The caller starts the gateway. Never throws.
 *
 * @param args Without the names of Node and of the script.
 * @param env Settings, REST_KEY, and secrets of destinations.
 */
export function runCommandLine(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Outcome {
  try {
    return run(args, env)
  } catch (error) {
    // A full disk, a database of another application: the message has the reason, a stack would not help.
    return fail(1, [(error as Error).message])
  }
}

function run(args: readonly string[], env: Readonly<Record<string, string | undefined>>): Outcome {
  let given: ReturnType<typeof parse>
  try {
    given = parse(args)
  } catch (error) {
    return fail(EX_USAGE, [explainOption(error as Error)])
  }
  const { values, positionals, tokens } = given
  if (values.version) return answer([version])
  if (values.help || positionals.length === 0)
    return answer(HELP.split('\n'), values.help ? 0 : EX_USAGE)
  const repeated = findRepeated(tokens)
  if (repeated) return fail(EX_USAGE, [`Expected --${repeated} only once.`])
  const [command, ...rest] = positionals as [string, ...string[]]
  const fault = findFault(command, rest, Object.keys(values))
  if (fault) return fail(EX_USAGE, [fault])
  const read = readSettings(env, givenSettings(command, values))
  if (command === 'doctor') return { work: prepareDoctor(read, values) }
  if (!read.ok) return fail(EX_CONFIG, read.message.split('\n'))
  if (command === 'settings')
    return { code: 0, stdout: listSettings(read.effective), stderr: read.warnings }
  if (command === 'check') {
    const work = prepareCheck(rest[0], values, read.settings)
    return typeof work === 'function' ? { work } : fail(EX_USAGE, work.lines)
  }
  if (command !== 'snippet' || needsData(values)) {
    const missing = findDriverFault()
    if (missing) return fail(EX_UNAVAILABLE, missing.split('\n'))
  }
  const refused = read.settings.cluster && refuseOnCluster(positionals)
  if (refused) return fail(1, [refused])
  if (readsDatabases(positionals, read.settings, values))
    refuseMirrored(join(resolve(read.settings.dataDir), 'customers.db'))
  if (command === 'start') return { start: read.settings, warnings: read.warnings }
  if (command === 'follow') {
    const { cluster } = read.settings
    if (!cluster) return fail(EX_CONFIG, [NOTHING_TO_FOLLOW])
    return { start: read.settings, followOnly: cluster, warnings: read.warnings }
  }
  if (command === 'export') {
    const work = prepareExport(values, read.settings)
    return typeof work === 'function' ? { work } : fail(EX_USAGE, work.lines)
  }
  if (command === 'move') {
    const work = prepareMove(values, read.settings)
    return typeof work === 'function' ? { work } : fail(EX_USAGE, work.lines)
  }
  if (command === 'data' && rest[0] === 'upgrade') return { work: prepareUpgrade(read.settings) }
  if (command === 'backup' || command === 'restore') {
    const work =
      command === 'backup'
        ? prepareBackup(rest, read.settings)
        : prepareRestore(rest, values, read.settings)
    return typeof work === 'function' ? { work } : fail(EX_USAGE, work.lines)
  }
  if (
    read.settings.cluster &&
    (command === 'customer' || (command === 'snippet' && needsData(values)))
  )
    return {
      work: onCluster(read.settings, read.settings.cluster, (settings) =>
        command === 'customer'
          ? runCustomer(rest, values, settings, env.REST_KEY)
          : runSnippet(values, settings, SCRIPT_FOLDER),
      ),
    }
  const { cluster } = read.settings
  if (cluster && (command === 'forward' || command === 'person'))
    return {
      async work() {
        // Loaded only here, since a start with SQLite does not need the client of NATS.
        const { prepareForward, preparePerson } = await import('./followerCommand.ts')
        return command === 'forward'
          ? prepareForward(rest, values, cluster, env)()
          : preparePerson(rest[0] as string, values, cluster)()
      },
    }
  const done = carryOut(command, rest, values, read.settings, env)
  if (!done.ok) return fail(done.isUsage ? EX_USAGE : 1, done.lines)
  return 'pieces' in done ? { pieces: done.pieces } : answer(done.lines)
}

/**
 * Whether a command reads or changes databases of SQLite in DATA_DIR, which must not be the copy of a cluster: what it
 * changes there would be in one process only. `start` looks by itself.
 */
function readsDatabases(
  [command, verb]: readonly string[],
  { cluster }: Settings,
  values: ReturnType<typeof parse>['values'],
): boolean {
  if (command === 'move') return true
  if (cluster || command === 'start' || command === 'follow') return false
  if (command === 'snippet') return needsData(values)
  return command !== 'backup' || verb !== 'verify'
}

const givenSettings = (
  command: string,
  values: ReturnType<typeof parse>['values'],
): GivenSettings => ({
  file: values.settings,
  ...(command === 'move' &&
    values.to !== undefined && { options: { ENGINE: { text: values.to, where: '--to' } } }),
  ...(values.demo && { options: { DEMO: { text: 'on', where: '--demo' } } }),
})

function carryOut(
  command: string,
  words: readonly string[],
  values: ReturnType<typeof parse>['values'],
  settings: Settings,
  env: Readonly<Record<string, string | undefined>>,
) {
  if (command === 'data') return acceptData(settings)
  if (command === 'snippet') return runSnippet(values, settings, SCRIPT_FOLDER)
  if (command === 'person') return runPerson(words[0] as string, values, settings)
  if (command === 'forward') return runForward(words, values, settings, env)
  return runCustomer(words, values, settings, env.REST_KEY)
}

const OPTIONS = {
  origin: { type: 'string', multiple: true },
  name: { type: 'string' },
  config: { type: 'string' },
  id: { type: 'string' },
  key: { type: 'string' },
  overlap: { type: 'string' },
  end: { type: 'boolean' },
  'tracking-key': { type: 'string' },
  'daily-events': { type: 'string' },
  'daily-bytes': { type: 'string' },
  ignore: { type: 'string', multiple: true },
  addresses: { type: 'string' },
  customer: { type: 'string' },
  kind: { type: 'string' },
  set: { type: 'string', multiple: true },
  operation: { type: 'string', multiple: true },
  'leave-out': { type: 'string', multiple: true },
  cookieless: { type: 'string' },
  bots: { type: 'string' },
  from: { type: 'string' },
  to: { type: 'string' },
  format: { type: 'string' },
  out: { type: 'string' },
  reason: { type: 'string' },
  letter: { type: 'string' },
  after: { type: 'string' },
  patch: { type: 'string' },
  email: { type: 'string' },
  did: { type: 'string' },
  'retention-days': { type: 'string' },
  currency: { type: 'string' },
  'time-zone': { type: 'string' },
  'refund-status': { type: 'string', multiple: true },
  yes: { type: 'boolean' },
  gateway: { type: 'string' },
  keep: { type: 'boolean' },
  integrity: { type: 'boolean' },
  list: { type: 'boolean' },
  remove: { type: 'string' },
  json: { type: 'boolean' },
  demo: { type: 'boolean' },
  settings: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'v' },
} as const
const REPEATABLE: ReadonlySet<string> = new Set([
  'origin',
  'ignore',
  'refund-status',
  'set',
  'operation',
  'leave-out',
])
const OPTION_NAMES = Object.keys(OPTIONS).map((name) => `--${name}`)

const parse = (args: readonly string[]) =>
  parseArgs({ args: [...args], allowPositionals: true, options: OPTIONS, tokens: true })

/** An option whose first value would be ignored, such as that of one of two persons to erase. */
function findRepeated(tokens: ReturnType<typeof parse>['tokens']): string | undefined {
  const seen = new Set<string>()
  for (const token of tokens) {
    if (token.kind !== 'option' || token.value === undefined || REPEATABLE.has(token.name)) continue
    if (seen.has(token.name)) return token.name
    seen.add(token.name)
  }
  return undefined
}

function explainOption({ message }: Error): string {
  const unknown = /^Unknown option '--?([\w-]+)/.exec(message)?.[1]
  return unknown
    ? `There is no option --${unknown}.${suggest(`--${unknown}`, OPTION_NAMES)}`
    : // Some messages of node have a hint on further lines.
      message.replaceAll('\n', ' ')
}

/** The verbs of a command, each with its options. */
const COMMANDS: Readonly<Record<string, ReadonlyMap<string, readonly string[]>>> = {
  customer: VERBS,
  person: PERSON_VERBS,
  forward: FORWARD_VERBS,
  data: DATA_VERBS,
}

/** The commands without verbs, each with its options and the number of words after it. */
const PLAIN: Readonly<
  Record<string, { readonly options: readonly string[]; readonly words: number }>
> = {
  start: { options: ['demo'], words: 0 },
  follow: { options: [], words: 0 },
  settings: { options: ['demo'], words: 0 },
  doctor: { options: DOCTOR_OPTIONS, words: 0 },
  snippet: { options: SNIPPET_OPTIONS, words: 0 },
  check: { options: CHECK_OPTIONS, words: 1 },
  export: { options: EXPORT_OPTIONS, words: 0 },
  move: { options: MOVE_OPTIONS, words: 0 },
  backup: { options: [], words: 2 },
  restore: { options: RESTORE_OPTIONS, words: 1 },
}

/** The fault of a command, or of options that belong to another one. */
function findFault(command: string, rest: readonly string[], given: readonly string[]) {
  const [word = ''] = rest
  const plain = Object.hasOwn(PLAIN, command) ? PLAIN[command] : undefined
  const verbs = Object.hasOwn(COMMANDS, command) ? COMMANDS[command] : undefined
  const taken = plain && rest.length <= plain.words ? plain.options : verbs?.get(word)
  const typed = [command, ...rest].join(' ')
  if (verbs && rest.length === 0)
    return `Expected one of ${[...verbs.keys()].join(', ')} after ${command}.`
  if (!taken) {
    if (plain?.words) return `${command} takes no ${rest[plain.words]}.`
    const known = verbs ? [...verbs.keys()] : [...Object.keys(PLAIN), ...Object.keys(COMMANDS)]
    const near = suggest(verbs ? word : command, known)
    return `There is no command ${typed}.${plain ? '' : near}`
  }
  if (verbs && command !== 'customer' && command !== 'forward' && rest.length > 1)
    return `${command} ${word} takes no ${rest[1]}.`
  const foreign = given.find((option) => option !== 'settings' && !taken.includes(option))
  return foreign && `${plain ? command : `${command} ${word}`} takes no --${foreign}.`
}

const answer = (stdout: readonly string[], code = 0): Outcome => ({ code, stdout, stderr: [] })

const fail = (code: number, lines: readonly string[]): Outcome => ({
  code,
  stdout: [],
  stderr: code === EX_USAGE ? [...lines, 'Commands and options: shoptrail --help'] : lines,
})
