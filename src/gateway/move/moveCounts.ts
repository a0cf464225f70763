import { encodeCounts } from '../nats/countsMessage.ts'
import { countsSubject } from '../nats/names.ts'
import type { Message } from '../nats/publisher.ts'
import {
  type CoverageCount,
  type ProblemCount,
  SLOT_MS,
  SLOTS_PER_HOUR,
  slotOf,
} from '../problems/problems.ts'
import type { MoveState } from './moveState.ts'
import type { MoveSource, Row } from './source.ts'
import type { MoveTarget } from './target.ts'

const DAY_MS = 86_400_000
const DONE = 'counts'

/** Publishes the counts of problems and of stored events, which are added to those of the cluster, once. */
export async function moveCounts(
  source: MoveSource,
  target: MoveTarget,
  state: MoveState,
): Promise<void> {
  if (state.isDone(DONE)) return
  const { partitions, partitionOf } = target.broker
  const problems = [...source.derivedRows('events', 'problems')].map(toProblem)
  const hours = [...source.derivedRows('events', 'coverage_hours')]
  const totals = [...source.derivedRows('events', 'coverage')]
  const coverage = totals.filter(isOfCustomer).flatMap((total) => toCoverage(total, hours))
  const observed = hours.filter((row) => !isOfCustomer(row)).flatMap(slotsOf)
  const since = totals.find((row) => !isOfCustomer(row))?.began
  const latest = Math.max(Number(since ?? 0), ...observed.map(({ slot }) => slot * SLOT_MS))
  const messages: Message[] = []
  for (let partition = 0; partition < partitions; partition++) {
    const isHere = ({ customer }: { readonly customer: string }) =>
      partitionOf(customer) === partition
    const batches = [
      // When the counting began, and when a gateway ran.
      ...(since === undefined ? [] : [since as number]),
      ...observed.map(({ slot }) => slot * SLOT_MS),
    ].map((at) => ({ problems: [], coverage: [], now: at }))
    // The time of a batch says that a gateway has run then.
    const own = {
      problems: problems.filter(isHere),
      coverage: coverage.filter(isHere),
      now: latest,
    }
    const all = own.problems.length + own.coverage.length > 0 ? [...batches, own] : batches
    for (const data of all.flatMap(encodeCounts))
      messages.push({
        ...{ partition, subject: countsSubject(partition), data },
        id: `move/${source.id}/counts/${partition}/${messages.length}`,
      })
  }
  // The process may have been killed when some were stored. They come after all events.
  await target.publish(messages, state.last()?.sequences ?? [], true)
  state.note(DONE)
}

const isOfCustomer = ({ customer }: Row): boolean => customer !== ''

const toProblem = ({ began, ended, ...row }: Row): ProblemCount =>
  ({ ...row, first: began, last: ended }) as unknown as ProblemCount

/** The slots of an hour that have something. */
const slotsOf = (row: Row): { readonly slot: number; readonly events: number }[] =>
  Array.from({ length: SLOTS_PER_HOUR }, (_, i) => ({
    slot: (row.hour as number) * SLOTS_PER_HOUR + i,
    events: row[`s${i}`] as number,
  })).filter(({ events }) => events > 0)

/** Counts whose sums are those of an operation: by slot as long as slots are kept, and by day before that. */
function toCoverage(total: Row, hours: readonly Row[]): CoverageCount[] {
  const { customer, operation, began, ended, events, days } = total as Row &
    Readonly<Record<'began' | 'ended' | 'events' | 'days', number>> &
    Readonly<Record<'customer' | 'operation', string>>
  const slots = hours
    .filter((row) => row.customer === customer && row.operation === operation)
    .flatMap(slotsOf)
    .sort((a, b) => a.slot - b.slot)
  const inSlots = slots.reduce((sum, slot) => sum + slot.events, 0)
  const daysOfSlots = new Set(slots.map(({ slot }) => Math.floor((slot * SLOT_MS) / DAY_MS))).size
  const bounded = (at: number) => Math.min(Math.max(at, began), ended)
  const count = (slot: number, of: number, first: number, last: number): CoverageCount => ({
    ...{ customer, operation, slot, events: of, first: bounded(first), last: bounded(last) },
  })
  const older: CoverageCount[] = []
  const left = events - inSlots
  if (left > 0) {
    const olderDays = Math.max(1, Math.min(days - daysOfSlots, left))
    for (let i = 0; i < olderDays; i++) {
      const at = began + i * DAY_MS
      older.push(count(slotOf(at), i === 0 ? left - olderDays + 1 : 1, at, at))
    }
  }
  return [
    ...older,
    ...slots.map(({ slot, events: of }) =>
      count(slot, of, slot * SLOT_MS, (slot + 1) * SLOT_MS - 1),
    ),
  ]
}
