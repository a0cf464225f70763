import { Sign } from '../operator/signs.tsx'
import { shortDid } from './kinds.ts'

/** The controls above the events: search, the device that is shown alone, pause and clear. */
export function Bar({
  typed,
  did,
  isPaused,
  waiting,
  onType,
  onAllDevices,
  onPause,
  onClear,
}: {
  /** The text in the search field. */
  readonly typed: string
  /** The device that is shown alone; '' for all. */
  readonly did: string
  readonly isPaused: boolean
  /** Number of events that have arrived during the pause. */
  readonly waiting: number
  readonly onType: (text: string) => void
  readonly onAllDevices: () => void
  readonly onPause: () => void
  readonly onClear: () => void
}) {
  const short = shortDid(did)
  return (
    <div class="bar">
      <label class="look">
        <span class="sr">Show only events that contain</span>
        <input
          type="search"
          placeholder="Product, path, e-mail, id…"
          autocomplete="off"
          spellcheck={false}
          value={typed}
          onInput={({ currentTarget }) => onType(currentTarget.value)}
          data-test="look"
        />
      </label>
      <button
        type="button"
        class="chip"
        aria-label={`Show all devices again, not only ${short}`}
        onClick={onAllDevices}
        hidden={!did}
        data-test="device-filter"
      >
        device {short} ✕
      </button>
      <button
        type="button"
        class="pause"
        aria-pressed={isPaused}
        onClick={onPause}
        data-test="pause"
      >
        <Sign name={isPaused ? 'play' : 'pause'} />
        <span>{isPaused ? `Resume${waiting ? ` (${waiting} new)` : ''}` : 'Pause'}</span>
      </button>
      <button type="button" onClick={onClear} data-test="clear">
        <Sign name="clear" />
        <span>Clear</span>
      </button>
    </div>
  )
}
