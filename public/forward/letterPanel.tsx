import { useLayoutEffect, useRef } from 'preact/hooks'
import type { Destination, Filter } from './data.ts'
import { nameOfDestination } from './destinations.tsx'
import type { LetterState } from './letterState.ts'
import { Filters, Letters } from './letters.tsx'
import { Mend } from './mend.tsx'

/**
 * The dead letters of a destination, and what can be done with them. A control that goes away gives the focus to the
 * button that has shown it, else to the title: otherwise the keyboard would begin at the top of the page again.
 */
export function LetterPanel({
  destination,
  letters,
  isBusy,
}: {
  readonly destination: Destination
  readonly letters: LetterState
  readonly isBusy: boolean
}) {
  const { page, groups, filter, selected, isFirst, task, preview, what } = letters.view
  const title = useRef<HTMLHeadingElement>(null)
  const mend = useRef<HTMLButtonElement>(null)
  const discard = useRef<HTMLButtonElement>(null)
  const lastTask = useRef(task)
  const canAct = page !== undefined && page.count > 0

  useLayoutEffect(() => {
    const opener = { '': title, mend, discard }[lastTask.current].current ?? title.current
    lastTask.current = task
    if (document.activeElement === document.body) opener?.focus({ preventScroll: true })
  }, [task, page === undefined, canAct])

  return (
    <section class="card panel" aria-labelledby="letters-title" data-test="panel">
      <h3 id="letters-title" ref={title} tabIndex={-1}>
        Dead letters of {nameOfDestination(destination)}
      </h3>
      <p class="hint">
        Events that it has refused for good. They stay here until they are delivered, discarded, or
        removed from the log.
      </p>
      {groups.length > 0 && (
        <Filters groups={groups} filter={filter} onFilter={letters.setFilter} />
      )}
      {page && (
        <Letters
          page={page}
          selected={selected}
          isFirst={isFirst}
          onSelect={letters.select}
          onFirst={letters.toFirst}
          onNext={letters.toNext}
        />
      )}
      {canAct && (
        <div class="actions">
          <p class="hint" role="status" data-test="what">
            For {selected.size > 0 ? what : `all ${what}`}
            {selected.size === 0 && hasFilter(filter) && ' of the filter'}:
          </p>
          <div class="buttons">
            <button
              type="button"
              aria-expanded={task === 'mend'}
              ref={mend}
              onClick={() => letters.begin(task === 'mend' ? '' : 'mend')}
              data-test="mend"
            >
              Mend…
            </button>
            <button
              type="button"
              aria-disabled={isBusy}
              onClick={letters.replay}
              data-test="replay"
            >
              Replay
            </button>
            <button
              type="button"
              class="danger"
              aria-expanded={task === 'discard'}
              ref={discard}
              onClick={() => letters.begin(task === 'discard' ? '' : 'discard')}
              data-test="discard"
            >
              Discard…
            </button>
          </div>
        </div>
      )}
      {task === 'discard' && (
        <div class="confirm" role="group" aria-label="Discard" data-test="confirm-discard">
          <p>
            {destination.name || 'This destination'} will never get{' '}
            {selected.size > 0 ? what : `all ${what}`}. It can not be undone. The events stay in the
            log.
          </p>
          <div class="buttons">
            <button
              type="button"
              class="danger"
              aria-disabled={isBusy}
              onClick={letters.discard}
              data-test="discard-now"
            >
              Discard {what}
            </button>
            <button type="button" onClick={() => letters.begin('')}>
              Keep them
            </button>
          </div>
        </div>
      )}
      {task === 'mend' && (
        <Mend
          what={selected.size > 0 ? what : `all ${what}`}
          isBusy={isBusy}
          preview={preview}
          onPreview={letters.preview}
          onForget={letters.forgetPreview}
          onSave={letters.mend}
          onCancel={() => letters.begin('')}
        />
      )}
    </section>
  )
}

const hasFilter = ({ operation, reason }: Filter): boolean =>
  operation !== undefined || reason !== undefined
