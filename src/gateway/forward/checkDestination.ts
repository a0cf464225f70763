import { randomInt } from 'node:crypto'
import { safeParse } from 'valibot'
import { suggest } from '../lib/suggest.ts'
import type { Destination } from './destination.ts'
import type { DestinationChange, DestinationGiven, ShownDestination } from './forwarding.ts'
import type { Kind } from './kind.ts'
import { OPERATION_WORDS } from './operations.ts'

/** The fields of the payloads that the log has. */
const FIELDS = [
  ...['did', 'event', 'url', 'http_user_agent', 'remote_addr', 'source'],
  ...['email_address', 'firstname', 'lastname', 'phone', 'email'],
  ...['product_id', 'quantity', 'variation', 'search_term'],
  ...['number', 'city', 'county', 'address', 'discount_value', 'discount_code', 'shipping', 'tax'],
  ...['total_value', 'products', 'currency', 'minor', 'order_number', 'order_status'],
  ...['name', 'add_tags', 'country', 'birthday', 'channels', 'attributes'],
]
const MAX_NAME_CHARACTERS = 128
/** The most that the settings of a destination may have, bytes of JSON. */
const MAX_SETTINGS_BYTES = 65_536
const ID_ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789'
const ID_LENGTH = 10

/** A destination that may be stored, or every fault in what was given. */
export type DestinationRead =
  | { readonly ok: true; readonly destination: Destination }
  | { readonly ok: false; readonly faults: readonly string[] }

type Kinds = ReadonlyMap<string, Kind>

const makeId = (): string =>
  Array.from({ length: ID_LENGTH }, () => ID_ALPHABET[randomInt(ID_ALPHABET.length)]).join('')

/** Completes and checks what an operator says of a new destination. */
export function completeDestination(
  { from: _, ...given }: DestinationGiven,
  kinds: Kinds,
): DestinationRead {
  return checkDestination(
    {
      name: '',
      isPaused: false,
      operations: [],
      leaveOut: [],
      takesCookieless: false,
      takesBots: false,
      ...without(given, undefined),
      id: makeId(),
    } as Destination,
    kinds,
  )
}

/** A destination with a change, checked. */
export function changeDestination(
  before: Destination,
  { settings = {}, ...change }: DestinationChange,
  kinds: Kinds,
): DestinationRead {
  return checkDestination(
    {
      ...before,
      ...without(change, undefined),
      settings: without({ ...before.settings, ...settings }, null),
    },
    kinds,
  )
}

export function checkDestination(destination: Destination, kinds: Kinds): DestinationRead {
  const { operations, leaveOut, name } = destination
  const kind = kinds.get(destination.kind)
  if (!kind) {
    const names = [...kinds.keys()]
    return refuse(
      `There is no kind ${destination.kind}. Expected one of ${names.join(', ')}.${suggest(destination.kind, names)}`,
    )
  }
  const { required = [] } = kind
  const read = safeParse(kind.settings, destination.settings)
  const faults = [
    ...(name.length > MAX_NAME_CHARACTERS
      ? [`Expected a name of at most ${MAX_NAME_CHARACTERS} characters`]
      : []),
    ...operations.flatMap((word) => findUnknown('operation', word, OPERATION_WORDS)),
    ...leaveOut.flatMap((word) => findUnknown('field', word, FIELDS)),
    ...leaveOut
      .filter((field) => required.includes(field))
      .map(
        (field) =>
          `A destination of the kind ${kind.name} can not do without ${field}. Choose its operations instead`,
      ),
    ...(read.issues ?? []).map(({ path, message }) => {
      const names = (path ?? []).map(({ key }) => String(key)).join('.')
      return names ? `${names}: ${message}` : message
    }),
    ...(Buffer.byteLength(JSON.stringify(destination.settings)) > MAX_SETTINGS_BYTES
      ? [`Expected settings of at most ${MAX_SETTINGS_BYTES} bytes`]
      : []),
  ]
  if (!read.success || faults.length > 0) return refuse(...faults)
  return {
    ok: true,
    destination: {
      ...destination,
      operations: [...new Set(operations)],
      leaveOut: [...new Set(leaveOut)],
    },
  }
}

/** A destination without its secrets. */
export function showDestination(
  { settings, ...destination }: Destination,
  kinds: Kinds,
): ShownDestination {
  const kind = kinds.get(destination.kind)
  const read = kind && safeParse(kind.settings, settings)
  return {
    ...destination,
    // Without its kind it is not known which settings are secret.
    settings: kind
      ? Object.fromEntries(
          Object.entries(settings).filter(([name]) => !kind.secrets.includes(name)),
        )
      : {},
    receives: kind && read?.success ? kind.describe(read.output) : '',
  }
}

function findUnknown(what: string, word: string, known: readonly string[]): string[] {
  return known.includes(word)
    ? []
    : [`There is no ${what} ${word}. Expected one of ${known.join(', ')}.${suggest(word, known)}`]
}

const without = <T extends object>(fields: T, value: unknown): T =>
  Object.fromEntries(Object.entries(fields).filter(([, field]) => field !== value)) as T

const refuse = (...faults: readonly string[]): DestinationRead => ({ ok: false, faults })
