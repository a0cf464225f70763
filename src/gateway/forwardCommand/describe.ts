import type {
  DeadLetter,
  DestinationState,
  DestinationStatus,
  LetterPage,
} from '../forward/forwarding.ts'
import { describeOperations } from '../forward/operations.ts'

/** Lines about destinations, for `forward list`. */
export const describeDestinations = (all: readonly DestinationStatus[]): string[] =>
  all.flatMap((status, i) => [...(i > 0 ? [''] : []), ...describeOne(status)])

function describeOne(status: DestinationStatus): string[] {
  const { destination, state, lagEvents, lagMs, delivered, failed, lost, letters } = status
  const { id, customer, kind, name, receives, operations, leaveOut } = destination
  const settings = Object.entries(destination.settings)
  const others = [
    destination.takesBots ? 'bots' : '',
    destination.takesCookieless ? 'visitors without consent' : '',
  ].filter(Boolean)
  return [
    `${id}${name && ` (${name})`}`,
    `  customer   ${customer}`,
    `  sends to   ${kind}: ${receives || 'its settings are not valid'}`,
    ...settings.map(
      ([key, value]) => `    ${key} ${typeof value === 'string' ? value : JSON.stringify(value)}`,
    ),
    `  events     ${describeOperations(operations)}${others.length > 0 ? `, also of ${others.join(' and ')}` : ''}`,
    ...(leaveOut.length > 0 ? [`  leaves out ${leaveOut.join(', ')}`] : []),
    `  state      ${describeState(state)}`,
    `  lag        ${count(lagEvents, 'event')}${lagEvents > 0 ? `, the oldest ${describeAge(lagMs)} old` : ''}`,
    `  delivered  ${number(delivered)}; failed attempts ${number(failed)}; dead letters ${number(letters)}`,
    ...(lost > 0
      ? [`  LOST       ${count(lost, 'event')} that the retention removed before they were sent`]
      : []),
  ]
}

function describeState({ name, since, reason, nextAt }: DestinationState): string {
  const parts = [
    name === 'stopped' ? 'STOPPED' : name,
    since === null ? '' : `since ${time(since)}`,
    nextAt === null ? '' : `until ${time(nextAt)}`,
  ]
  return `${parts.filter(Boolean).join(' ')}${reason === null ? '' : `: ${reason}`}`
}

export const NO_LETTERS = 'There are no such dead letters.'

/** Lines about dead letters, for `forward letters`. */
export function describeLetters(
  { letters, groups, count: all, next }: LetterPage,
  id: string,
): string[] {
  if (all === 0) return [NO_LETTERS]
  return [
    `${count(all, 'dead letter')}. The most frequent reasons of this destination:`,
    ...groups.map((group) => `  ${number(group.count)}  ${group.operation}  ${group.reason}`),
    '',
    ...letters.map(describeLetter),
    ...(next === undefined
      ? []
      : ['', `More: npx shoptrail forward letters ${id} --after ${next}`]),
  ]
}

/** A line if the patch makes the first letter's payload invalid. */
export function describeFault(page: LetterPage | undefined): string[] {
  const [letter] = page?.letters ?? []
  return letter?.fault ? [`Letter ${letter.seq} could not be sent so. ${letter.fault}`] : []
}

function describeLetter(letter: DeadLetter): string {
  const { seq, eventId, operation, attempts, lastAt, reason, patch, fault, isReplayed } = letter
  const marks = `${patch ? '  mended' : ''}${fault ? ', invalid' : ''}${isReplayed ? '  to be sent again' : ''}`
  return `${seq}  ${eventId}  ${operation}  ${time(lastAt)}  ${count(attempts, 'attempt')}${marks}  ${reason}`
}

const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const

/** A duration in its largest unit: `3 hours`. */
function describeAge(ms: number): string {
  const [unit, length] = UNITS.find(([, length]) => ms >= 2 * length) ?? ['second', 1_000]
  return count(Math.floor(ms / length), unit)
}

const time = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')
const number = (value: number): string => value.toLocaleString('en')
export const count = (value: number, one: string): string =>
  `${number(value)} ${one}${value === 1 ? '' : 's'}`
