import type { TargetedEvent } from 'preact'
import { useState } from 'preact/hooks'
import { CopyButton } from '../operator/copyButton.tsx'
import { counted, number } from '../operator/numbers.ts'
import { Sign, type SignName } from '../operator/signs.tsx'
import type { Kept } from './data.ts'

/** The request that is running; '' for none. */
export type Work = '' | 'find' | 'download' | 'erase'

/** What is kept of a person, its download and its erasure. */
export function Found({
  text,
  kept,
  work,
  onDownload,
  onErase,
}: {
  /** The address or id, as the operator typed it. */
  readonly text: string
  readonly kept: Kept
  readonly work: Work
  readonly onDownload: () => void
  readonly onErase: () => void
}) {
  const { events, devices, operations, first, last, dids, shared } = kept
  return (
    <section class="card found-person" aria-labelledby="found-title" data-test="kept">
      <div class="title">
        <h3 id="found-title">{text}</h3>
        <p class="hint" role="status" data-test="counts">
          {counted(events, 'event')} of {counted(devices, 'device')}
        </p>
        <button type="button" onClick={onDownload} disabled={work !== ''} data-test="download">
          {work === 'download' ? 'Preparing the file…' : 'Download as JSON'}
        </button>
      </div>
      {shared > 0 && (
        <p class="shared" data-test="shared">
          {counted(shared, 'device')} gave another address too: these events may be those of two
          people. Check before you hand them over.
        </p>
      )}
      <dl class="facts">
        <div>
          <dt>First seen</dt>
          <dd>{showMoment(first)}</dd>
        </div>
        <div>
          <dt>Last seen</dt>
          <dd>{showMoment(last)}</dd>
        </div>
      </dl>
      <div class="two">
        <div>
          <h4>Events</h4>
          <ul data-test="operations">
            {Object.entries(operations).map(([operation, count]) => (
              <li key={operation} data-kind={operation}>
                <Sign name={operation as SignName} />
                <span>{operation}</span>
                <b>{number(count)}</b>
              </li>
            ))}
          </ul>
        </div>
        <div>
          <h4>Devices</h4>
          {devices === 0 && <p class="hint">None: a server reported these events.</p>}
          <ul data-test="dids">
            {dids.map((did) => (
              <li key={did}>
                <code>{did}</code>
                <CopyButton text={did} label="Copy" />
              </li>
            ))}
            {devices > dids.length && (
              <li class="hint">and {number(devices - dids.length)} more, in the file</li>
            )}
          </ul>
        </div>
      </div>
      <Erase text={text} kept={kept} work={work} onErase={onErase} />
    </section>
  )
}

/** The typed text must be the person again, so that nobody erases the wrong one by a click. */
function Erase({
  text,
  kept: { events, devices },
  work,
  onErase,
}: {
  readonly text: string
  readonly kept: Kept
  readonly work: Work
  readonly onErase: () => void
}) {
  const [typed, setTyped] = useState('')
  const isConfirmed = typed.trim() === text

  function submit(event: TargetedEvent<HTMLFormElement>) {
    event.preventDefault()
    if (isConfirmed) onErase()
  }

  return (
    <form class="erase" onSubmit={submit} data-test="erase-form">
      <h4>Erase</h4>
      <p>
        Removes {counted(events, 'event')} of {counted(devices, 'device')} from the log and from
        campaign reports. It can not be undone. What the same devices send later is new.
      </p>
      <label for="confirm">Type {text} to confirm</label>
      <div class="row">
        <input
          id="confirm"
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          value={typed}
          onInput={({ currentTarget }) => setTyped(currentTarget.value)}
          data-test="confirm"
        />
        <button
          type="submit"
          class="danger"
          disabled={!isConfirmed || work !== ''}
          data-test="erase"
        >
          {work === 'erase' ? 'Erasing…' : `Erase ${counted(events, 'event')}`}
        </button>
      </div>
    </form>
  )
}

/** In the operator's own time zone. */
const showMoment = (ms: number): string =>
  new Date(ms).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'short' })
