import type { Destination, Filter } from './data.ts'
import { nameOfDestination } from './destinations.tsx'
import type { LetterState } from './letterState.ts'
import { Letters } from './letters.tsx'
import { Mend } from './mend.tsx'

/** The dead letters of a destination, and what can be done with them. */
export function LetterPanel({
  destination,
  letters,
  isBusy,
}: {
  readonly destination: Destination
  readonly letters: LetterState
  readonly isBusy: boolean
}) {
  const { page, filter, selected, isFirst, task, preview, what } = letters.view
  return (
    <section class="card panel" aria-labelledby="letters-title" data-test="panel">
      <h3 id="letters-title">Dead letters of {nameOfDestination(destination)}</h3>
      <p class="hint">
        Events that it has refused for good. They stay here until they are delivered, discarded, or
        removed from the log.
      </p>
      {page && (
        <Letters
          page={page}
          filter={filter}
          selected={selected}
          isFirst={isFirst}
          isBusy={isBusy}
          onFilter={letters.setFilter}
          onSelect={letters.select}
          onFirst={letters.toFirst}
          onNext={letters.toNext}
        />
      )}
      {page && page.count > 0 && (
        <div class="actions">
          <p class="hint" role="status" data-test="what">
            For {selected.size > 0 ? what : `all ${what}`}
            {selected.size === 0 && hasFilter(filter) && ' of the filter'}:
          </p>
          <div class="buttons">
            <button
              type="button"
              aria-expanded={task === 'mend'}
              disabled={isBusy}
              onClick={() => letters.begin(task === 'mend' ? '' : 'mend')}
              data-test="mend"
            >
              Mend…
            </button>
            <button type="button" disabled={isBusy} onClick={letters.replay} data-test="replay">
              Replay
            </button>
            <button
              type="button"
              class="danger"
              aria-expanded={task === 'discard'}
              disabled={isBusy}
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
              disabled={isBusy}
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
