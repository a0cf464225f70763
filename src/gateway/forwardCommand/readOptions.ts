import { asObject } from '../collect/verdicts.ts'
import type { DestinationChange, DestinationGiven, LetterFilter } from '../forward/forwarding.ts'
import { KINDS } from '../forward/kinds.ts'
import { readOperations } from '../forward/operations.ts'
import { type Fault, misused } from '../lib/command.ts'

/** Options of `shoptrail forward …`, as they were typed. */
export type ForwardOptions = {
  readonly kind?: string | undefined
  readonly set?: string[] | undefined
  readonly name?: string | undefined
  readonly operation?: string[] | undefined
  readonly 'leave-out'?: string[] | undefined
  readonly cookieless?: string | undefined
  readonly bots?: string | undefined
  readonly from?: string | undefined
  readonly reason?: string | undefined
  readonly letter?: string | undefined
  readonly after?: string | undefined
  readonly patch?: string | undefined
  readonly json?: boolean | undefined
  readonly yes?: boolean | undefined
}

/** Environment variables. */
export type Env = Readonly<Record<string, string | undefined>>

/** What was read, or what is wrong with it. */
export type Read<T> = { readonly ok: true; readonly value: T } | Fault

/** The variable with all secrets, JSON. */
const SECRETS_VARIABLE = 'FORWARD_SECRETS'
/** Resets a list. */
const NONE = 'none'

/** The variable of one secret: FORWARD_REST_KEY for `restKey`. */
const variableOf = (secret: string): string =>
  `FORWARD_${secret.replace(/[A-Z]/g, '_$&').toUpperCase()}`

/**
 * Reads the options that a destination is made or changed with.
 *
 * @param kind Its kind, or what was typed as one.
 */
export function readChange(
  options: ForwardOptions,
  kind: string,
  env: Env,
): Read<DestinationChange> {
  const { operation, name } = options
  const settings = readSettings(options.set ?? [], kind, env)
  if (!settings.ok) return settings
  const cookieless = readSwitch('cookieless', options.cookieless)
  if (!cookieless.ok) return cookieless
  const bots = readSwitch('bots', options.bots)
  if (!bots.ok) return bots
  const leaveOut = options['leave-out']
  return {
    ok: true,
    value: {
      ...(name !== undefined && { name }),
      // Their words are checked with everything else.
      ...(operation && { operations: readOperations(operation) }),
      ...(leaveOut && { leaveOut: `${leaveOut}` === NONE ? [] : leaveOut }),
      ...(cookieless.value !== undefined && { takesCookieless: cookieless.value }),
      ...(bots.value !== undefined && { takesBots: bots.value }),
      ...(Object.keys(settings.value).length > 0 && { settings: settings.value }),
    },
  }
}

/** A time such as 2026-11-29 (UTC) or 2026-11-29T08:00Z, ms since 1970. Undefined if the text is none. */
export function readTime(text: string): number | undefined {
  const time = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(time) ? undefined : time
}

/** `end`, `beginning` or a time. */
export function readFrom(text: string | undefined): Read<DestinationGiven['from']> {
  if (text === undefined || text === 'end' || text === 'beginning') return { ok: true, value: text }
  const time = readTime(text)
  return time === undefined
    ? misused(
        `Expected --from as end, beginning or a time such as 2026-11-29 or 2026-11-29T08:00Z: ${text}`,
      )
    : { ok: true, value: time }
}

export function readFilter({ operation, reason, letter }: ForwardOptions): Read<LetterFilter> {
  if ((operation?.length ?? 0) > 1) return misused('Expected --operation only once')
  const seq = readPosition('letter', letter)
  if (!seq.ok) return seq
  return { ok: true, value: { operation: operation?.[0], reason, seq: seq.value } }
}

/** The options that readFilter reads, for a command to copy. */
export const filterText = ({ operation, reason, seq }: LetterFilter): string =>
  [
    operation === undefined ? '' : ` --operation ${operation}`,
    reason === undefined ? '' : ` --reason '${reason.replaceAll("'", `'\\''`)}'`,
    seq === undefined ? '' : ` --letter ${seq}`,
  ].join('')

/** A position in the log. */
export function readPosition(option: string, text: string | undefined): Read<number | undefined> {
  if (text === undefined) return { ok: true, value: undefined }
  return /^\d{1,15}$/.test(text)
    ? { ok: true, value: Number(text) }
    : misused(`Expected --${option} as the number of a letter: ${text}`)
}

/** A merge patch, or null for `none`. */
export function readPatch(
  text: string | undefined,
): Read<Readonly<Record<string, unknown>> | null> {
  if (text === NONE) return { ok: true, value: null }
  const patch = text === undefined ? undefined : asObject(parse(text))
  return patch
    ? { ok: true, value: patch }
    : misused(
        'Expected --patch as a JSON object with the fields to change, or none:',
        `  --patch '{"product_id":42,"source":null}'`,
      )
}

/** Values that are JSON are read as JSON, all others as text. */
function readSettings(
  texts: readonly string[],
  kind: string,
  env: Env,
): Read<Readonly<Record<string, unknown>>> {
  const secrets = KINDS.get(kind)?.secrets ?? []
  const settings = new Map<string, unknown>()
  for (const text of texts) {
    const at = text.indexOf('=')
    // Not the text, which may be a secret.
    if (at < 1)
      return misused('Expected --set as NAME=VALUE, such as --set url=https://shop.example/hook')
    const name = text.slice(0, at)
    if (secrets.includes(name)) return misused(...tellSecret(name))
    if (settings.has(name)) return misused(`Expected --set ${name}=… only once`)
    const value = text.slice(at + 1)
    const json = parse(value)
    settings.set(name, json === undefined || typeof json === 'string' ? value : json)
  }
  const given = readSecrets(secrets, env)
  return given.ok ? { ok: true, value: { ...Object.fromEntries(settings), ...given.value } } : given
}

function readSecrets(
  secrets: readonly string[],
  env: Env,
): Read<Readonly<Record<string, unknown>>> {
  const text = env[SECRETS_VARIABLE]
  const all = text ? asObject(parse(text)) : {}
  if (!all) return misused(`Expected in ${SECRETS_VARIABLE} a JSON object of secrets by name`)
  const unknown = Object.keys(all).find((name) => !secrets.includes(name))
  if (unknown !== undefined)
    return misused(
      `${SECRETS_VARIABLE} has ${unknown}, which is not a secret of this kind. Its secrets: ${secrets.join(', ') || 'none'}`,
    )
  const single = secrets.flatMap((name) => {
    const value = env[variableOf(name)]
    return value ? [[name, value] as const] : []
  })
  return { ok: true, value: { ...all, ...Object.fromEntries(single) } }
}

/** How to give a secret. */
export const tellSecret = (name: string): string[] => [
  `${name} is a secret, and every user of a machine can read all command lines. Put it into the environment:`,
  `  ${variableOf(name)}="$(cat secret.txt)" npx shoptrail forward …`,
]

function readSwitch(option: string, text: string | undefined): Read<boolean | undefined> {
  if (text === undefined || text === 'on' || text === 'off')
    return { ok: true, value: text === undefined ? undefined : text === 'on' }
  return misused(`Expected --${option} on or --${option} off: ${text}`)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
