/** The problems of a customer and the coverage of its operations, without the DOM. */
import type { Coverage, Problem, ProblemList } from '../../src/contract/problems.ts'
import { nameOperation } from '../operator/kinds.ts'

/** A problem that was not counted for this long is listed as an earlier one: somebody has probably fixed it. */
const CURRENT_MS = 86_400_000

const NAMES: Record<Problem['reason'], string> = {
  invalid: 'invalid',
  refused: 'refused by the gateway',
  too_old: 'too old to be sent',
  outbox_full: 'no room in the browser',
  origin: 'Origin is not allowed',
  wrong_key: 'wrong REST key',
  too_large: 'too large',
  unknown_key: 'unknown tracking key',
}

/** @param now The gateway's clock, ms since 1970: the times of problems are of the same clock. */
export function createProblems(now: () => number = Date.now) {
  let list: ProblemList | undefined
  /** Ids of the current problems of the last list. */
  let known: ReadonlySet<string> | undefined

  const isCurrent = ({ last }: Problem) => now() - Date.parse(last) < CURRENT_MS
  const current = () => list?.data.filter(isCurrent) ?? []

  return {
    /** @returns The problems that have become current since the list before: new ones, and old ones that are back. */
    take(next: ProblemList): readonly Problem[] {
      list = next
      const before = known
      known = new Set(current().map(({ id }) => id))
      return before ? current().filter(({ id }) => !before.has(id)) : []
    },
    /** The last list; undefined before the first. */
    list: () => list,
    /** Counted within the last day, most recent first. */
    current,
    earlier: () => list?.data.filter((problem) => !isCurrent(problem)) ?? [],
    /** Whether it was first counted within the last day. */
    isNew: ({ first }: Problem) => now() - Date.parse(first) < CURRENT_MS,
    /** The operations that come less than usual, or not any more. */
    warnings: () => list?.coverage.filter(isWarning) ?? [],
    /** Forgets everything, for another customer. */
    reset(): void {
      list = undefined
      known = undefined
    },
  }
}

export type Problems = ReturnType<typeof createProblems>

export const isWarning = ({ state }: Coverage): boolean => state === 'stopped' || state === 'fewer'

/** `Cart, added: invalid`, `Origin is not allowed`. */
export function titleOf({ operation, reason }: Problem): string {
  const name = NAMES[reason] ?? reason
  return operation
    ? `${nameOperation(operation)}: ${name}`
    : name.charAt(0).toUpperCase() + name.slice(1)
}

/** The number of days (UTC) from `from` to `to`, both included. */
export const daysOf = ({ from, to }: Pick<ProblemList, 'from' | 'to'>): number =>
  Math.round((Date.parse(to) - Date.parse(from)) / 86_400_000) + 1

/** `3` or `0.4`: a mean with as many digits as are of use. */
export function mean(value: number): string {
  const rounded = Math.round(value * 10) / 10
  return `${rounded >= 10 ? Math.round(value) : rounded}`
}

/** A text in pieces. Text between backticks is code; a command of the command line goes on to the end of the text. */
export function piecesOf(
  text: string,
): { readonly text: string; readonly kind: 'text' | 'code' | 'command' }[] {
  return text.split(/(`[^`]+`|npx shoptrail .+$)/).flatMap((piece, index) => {
    if (piece === '') return []
    if (index % 2 === 0) return { text: piece, kind: 'text' as const }
    const code = piece.replaceAll('`', '')
    return { text: code, kind: code.startsWith('npx ') ? 'command' : 'code' }
  })
}
