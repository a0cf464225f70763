/** The links between the three views of this page: events, problems, coverage. The address keeps the shown one. */
import { nameOf } from '../operator/numbers.ts'

export type View = 'events' | 'problems' | 'coverage'

/** Target and text of the link that skips the header. */
export const SKIPS = {
  events: { id: 'stream', text: 'To the events' },
  problems: { id: 'problems-view', text: 'To the problems' },
  coverage: { id: 'coverage-view', text: 'To the coverage' },
} satisfies Record<View, unknown>

/** The view that a fragment names, such as `#problems`. The link that skips the header has `#problems-view`. */
export function viewOf(hash: string): View {
  const [, name] = /^#(problems|coverage)\b/.exec(hash) ?? []
  return (name as View | undefined) ?? 'events'
}

export function Views({
  shown,
  problems,
  warnings,
  news,
}: {
  readonly shown: View
  /** Number of current problems. */
  readonly problems: number
  /** Number of operations that come less than usual, or not any more. */
  readonly warnings: number
  /** Problems that the operator has not seen yet, newest first. */
  readonly news: readonly string[]
}) {
  const current = (view: View) => (view === shown ? 'true' : undefined)
  return (
    <nav class="views" aria-label="Views">
      <a href="#events" aria-current={current('events')} data-test="view-events">
        Events
      </a>
      <a href="#problems" aria-current={current('problems')} data-test="view-problems">
        Problems
        <b class="badge" hidden={problems === 0} data-test="problem-badge">
          {problems}
        </b>
      </a>
      <a href="#coverage" aria-current={current('coverage')} data-test="view-coverage">
        Coverage
        <b
          class="badge warn"
          hidden={warnings === 0}
          title={`${warnings} ${nameOf(warnings, 'operation')} came more often before`}
          data-test="coverage-badge"
        >
          {warnings}
        </b>
      </a>
      <a class="news" href="#problems" hidden={news.length === 0} data-test="news">
        <b>New</b> {news[0]}
        {news.length > 1 && ` and ${news.length - 1} more`}
      </a>
    </nav>
  )
}
