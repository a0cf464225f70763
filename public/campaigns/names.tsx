/** A report's events by name, highest count first. */
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { counted, number } from '../operator/numbers.ts'
import { kindOfName, namesOf, shorten } from './model.ts'

/** Names that are shown at first. */
const FIRST = 12
/** Longer names are shortened. */
const MAX_CHARACTERS = 72

export function Names({ events }: { readonly events: Readonly<Record<string, number>> }) {
  const [hasAll, setAll] = useState(false)
  const list = useRef<HTMLOListElement>(null)
  const names = namesOf(events)
  const most = Math.max(1, ...names.map(([, count]) => count))
  const shown = hasAll ? names : names.slice(0, FIRST)

  useLayoutEffect(() => {
    // The button is gone now, so the focus moves to the first name that it revealed.
    if (hasAll) list.current?.querySelectorAll('li')[FIRST]?.focus()
  }, [hasAll])

  return (
    <div>
      <ol ref={list} class="names" data-test="event-names">
        {shown.map(([name, count]) => (
          <li key={name} tabIndex={-1} data-test="event-name" data-name={name}>
            <code title={name}>{shorten(name, MAX_CHARACTERS)}</code>
            <div class="track">
              <i data-kind={kindOfName(name)} style={{ width: `${(count / most) * 100}%` }} />
            </div>
            <b title={counted(count, 'event')}>{number(count)}</b>
          </li>
        ))}
      </ol>
      <button
        type="button"
        class="text more"
        onClick={() => setAll(true)}
        hidden={shown.length === names.length}
        data-test="more-names"
      >
        Show {number(names.length - shown.length)} more
      </button>
    </div>
  )
}
