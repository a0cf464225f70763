/** The problems of the watched customer as the page shows them, and those that the operator has not seen yet. */
import type { ProblemList } from '../../src/contract/problems.ts'
import type { EndReason } from '../operator/operator.ts'
import { clock } from '../operator/time.ts'
import { startProblems } from './problemFeed.ts'
import { createProblems, titleOf } from './problemList.ts'

/**
 * @param now The gateway's clock, ms since 1970.
 * @param onChange Called after each answer, with the titles of the problems that have come up.
 */
export function createProblemState(
  now: () => number,
  onChange: (added: readonly string[]) => void,
) {
  const problems = createProblems(now)
  let feed: ReturnType<typeof startProblems> | undefined
  /** Why the problems are not up to date, as a sentence; '' if they are. */
  let trouble = ''
  let loadedAt = 0
  /** Counts the answers. */
  let version = 0
  /** Titles of problems that came up since the operator has looked at the list, newest first. */
  let news: readonly string[] = []

  function show(list: ProblemList) {
    const added = problems.take(list).map((problem) => `${titleOf(problem)} on ${problem.page}`)
    loadedAt = Date.now()
    trouble = ''
    version++
    news = [...added, ...news]
    onChange(added)
  }

  function showTrouble(sentence: string) {
    trouble = problems.list()
      ? `${sentence} Not renewed since ${clock(loadedAt)}.`
      : `${sentence} The problems can not be shown now.`
    onChange([])
  }

  return {
    problems,
    get view() {
      return { trouble, version, news }
    },
    /** Loads the problems of a customer, and forgets those of another one. */
    start(customerId: string, onEnd: (reason: EndReason) => void): void {
      problems.reset()
      version++
      trouble = ''
      news = []
      feed = startProblems(customerId, { onList: show, onTrouble: showTrouble, onEnd })
    },
    reload: () => feed?.reload(),
    /** The operator looks at the list. */
    see(): void {
      news = []
    },
    stop: () => feed?.stop(),
  }
}
