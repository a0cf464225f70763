import { createHash } from 'node:crypto'
import type { Problem, ProblemList } from '../../contract/problems.ts'
import { type Explained, explainProblem } from './explainProblem.ts'
import { judgeCoverage } from './judgeCoverage.ts'
import { type CoverageHistory, KEPT_DAYS, type ProblemCount } from './problems.ts'

/** Problems in an answer: the most recent ones. */
export const MAX_PROBLEMS = 200
const DAY_MS = 86_400_000

/**
 * The answer about a customer.
 *
 * @param counts Its counts of the days up to `today`.
 * @param today Days since 1970, UTC.
 * @param now ms since 1970.
 */
export function makeProblemList(
  customer: Explained,
  counts: readonly ProblemCount[],
  history: CoverageHistory,
  today: number,
  now: number,
): ProblemList {
  const fromDay = today - KEPT_DAYS + 1
  const groups = new Map<string, ProblemCount[]>()
  for (const count of counts) {
    const { reason, source, operation, path, page } = count
    const key = JSON.stringify([reason, source, operation, path, page])
    const group = groups.get(key)
    if (group) group.push(count)
    else groups.set(key, [count])
  }
  const data = [...groups]
    .map(([key, group]) => toProblem(key, group, customer, fromDay))
    .sort((a, b) => (a.last < b.last ? 1 : a.last > b.last ? -1 : a.id < b.id ? -1 : 1))
  return {
    from: iso(fromDay * DAY_MS).slice(0, 10),
    to: iso(today * DAY_MS).slice(0, 10),
    since: iso(history.since),
    data: data.slice(0, MAX_PROBLEMS),
    coverage: judgeCoverage(history, now),
  }
}

/** @param group The counts of one fault, of different days. */
function toProblem(
  key: string,
  group: readonly ProblemCount[],
  customer: Explained,
  fromDay: number,
): Problem {
  const [fault] = group as [ProblemCount]
  const { reason, source, operation, path, page } = fault
  const days = new Array<number>(KEPT_DAYS).fill(0)
  let newest = fault
  for (const count of group) {
    if (count.day - fromDay in days) days[count.day - fromDay] = count.count
    if (count.last > newest.last) newest = count
  }
  const { example } = newest
  return {
    id: createHash('sha256').update(key).digest('base64url').slice(0, 16),
    reason,
    source,
    ...(operation && { operation: operation as NonNullable<Problem['operation']> }),
    ...(path && { path }),
    page,
    count: days.reduce((a, b) => a + b, 0),
    first: iso(Math.min(...group.map(({ first }) => first))),
    last: iso(newest.last),
    days,
    ...explainProblem(fault, customer),
    ...(example !== null && { example: JSON.parse(example) as unknown }),
  }
}

const iso = (at: number): string => new Date(at).toISOString()
