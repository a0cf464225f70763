import { paint } from '../operator/json.tsx'
import { counted, nameOf, number } from '../operator/numbers.ts'
import { Sign, type SignName } from '../operator/signs.tsx'
import { clock, exactTime } from '../operator/time.ts'
import type { Filter, Letter, LetterPage } from './data.ts'

export type LettersProps = {
  readonly page: LetterPage
  readonly selected: ReadonlySet<number>
  readonly isFirst: boolean
  readonly onSelect: (seqs: ReadonlySet<number>) => void
  readonly onFirst: () => void
  readonly onNext: (after: number) => void
}

/** The dead letters of a destination as a table, with their payloads and a selection. */
export function Letters({ page, selected, onSelect, isFirst, onFirst, onNext }: LettersProps) {
  const { letters, count, next } = page
  const isAll = letters.length > 0 && letters.every(({ seq }) => selected.has(seq))
  return (
    <>
      {letters.length === 0 ? (
        <p class="hint" data-test="no-letters">
          {count === 0
            ? 'No dead letters.'
            : 'The events of these letters were removed from the log.'}
        </p>
      ) : (
        <table class="letters" data-test="letters">
          <thead>
            <tr>
              <th scope="col">
                <label>
                  <input
                    type="checkbox"
                    aria-label="Select all that are shown"
                    checked={isAll}
                    onChange={() => onSelect(new Set(isAll ? [] : letters.map(({ seq }) => seq)))}
                    data-test="select-all"
                  />
                  <span aria-hidden="true">Select all</span>
                </label>
              </th>
              <th scope="col">Event</th>
              <th scope="col">Reason</th>
              <th scope="col">Attempts</th>
              <th scope="col">Last</th>
            </tr>
          </thead>
          <tbody>
            {letters.map((letter) => (
              <Row key={letter.seq} letter={letter} selected={selected} onSelect={onSelect} />
            ))}
          </tbody>
        </table>
      )}
      <div class="paging">
        <span class="hint">
          {letters.length < count &&
            `${number(letters.length)} of ${counted(count, 'letter')} are shown`}
        </span>
        {!isFirst && (
          <button type="button" onClick={onFirst}>
            First page
          </button>
        )}
        {next !== undefined && (
          <button type="button" onClick={() => onNext(next)} data-test="next">
            Next page
          </button>
        )}
      </div>
    </>
  )
}

/** The choice of an operation and a reason. */
export function Filters({
  groups,
  filter,
  onFilter,
}: {
  readonly groups: LetterPage['groups']
  readonly filter: Filter
  readonly onFilter: (filter: Filter) => void
}) {
  const operations = [...new Set(groups.map(({ operation }) => operation))]
  const reasons = [...new Set(groups.map(({ reason }) => reason))]
  return (
    <div class="filters">
      <Choice
        label="Operation"
        value={filter.operation}
        options={operations}
        onChoose={(operation) => onFilter({ ...filter, operation })}
      />
      <Choice
        label="Reason"
        value={filter.reason}
        options={reasons}
        onChoose={(reason) => onFilter({ ...filter, reason })}
      />
    </div>
  )
}

function Choice({
  label,
  value,
  options,
  onChoose,
}: {
  readonly label: string
  readonly value: string | undefined
  readonly options: readonly string[]
  readonly onChoose: (value: string | undefined) => void
}) {
  // The last letter of a chosen group may have gone.
  const shown = value === undefined || options.includes(value) ? options : [value, ...options]
  return (
    <label>
      {label}
      <select
        value={value === undefined ? -1 : shown.indexOf(value)}
        onChange={({ currentTarget }) => onChoose(shown[Number(currentTarget.value)])}
        data-test={`filter-${label.toLowerCase()}`}
      >
        <option value={-1}>All</option>
        {shown.map((option, index) => (
          <option key={option} value={index}>
            {option}
          </option>
        ))}
      </select>
    </label>
  )
}

function Row({
  letter,
  selected,
  onSelect,
}: {
  readonly letter: Letter
  readonly selected: ReadonlySet<number>
  readonly onSelect: (seqs: ReadonlySet<number>) => void
}) {
  const { seq, eventId, operation, reason, attempts, firstAt, lastAt } = letter
  const isSelected = selected.has(seq)

  function toggle() {
    const seqs = new Set(selected)
    if (!seqs.delete(seq)) seqs.add(seq)
    onSelect(seqs)
  }

  return (
    <tr data-test="letter" aria-selected={isSelected}>
      <td>
        <input
          type="checkbox"
          aria-label={`Select event ${eventId}`}
          checked={isSelected}
          onChange={toggle}
          data-test="select"
        />
      </td>
      <td class="event">
        <span class="operation" data-kind={operation}>
          <Sign name={operation as SignName} />
          <span>{operation}</span>
        </span>
        {letter.patch && <em>mended</em>}
        {letter.isReplayed && <em data-test="replayed">is sent again</em>}
        <details>
          <summary>Payload</summary>
          <pre data-test="payload">{paint(JSON.stringify(letter.payload, null, 2))}</pre>
          {letter.patch && (
            <>
              <p class="hint">Its patch</p>
              <pre>{paint(JSON.stringify(letter.patch, null, 2))}</pre>
            </>
          )}
          <p class="hint">
            Event <code>{eventId}</code>
          </p>
        </details>
      </td>
      <td class="reason">{reason}</td>
      <td>
        {number(attempts)} <span class="unit">{nameOf(attempts, 'attempt')}</span>
      </td>
      <td>
        <time title={`First ${exactTime(firstAt)}, last ${exactTime(lastAt)}`}>
          {clock(lastAt)}
        </time>
      </td>
    </tr>
  )
}
