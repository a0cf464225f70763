/** What screen readers announce, in one live region. */
import { nameOf } from '../operator/numbers.ts'

/** New events are announced together, at most this often. */
const EVERY_MS = 15_000

/**
 * @param mayCount Whether new events are announced now. Those that arrive otherwise are never announced.
 * @param draw Draws the page with `Region` after new events were announced.
 */
export function createAnnouncements(mayCount: () => boolean, draw: () => void) {
  let shown = { text: '', id: 0 }
  let events = 0

  function say(text: string) {
    shown = { text, id: shown.id + 1 }
  }

  setInterval(() => {
    if (events > 0 && mayCount()) {
      say(`${events} new ${nameOf(events, 'event')}`)
      draw()
    }
    events = 0
  }, EVERY_MS)

  return {
    /** Announces a text with the next draw. */
    say,
    /** Counts a new event. */
    count(): void {
      events++
    },
    Region: () => (
      <p class="sr" role="status">
        {/* A new element each time, so that screen readers announce the same text again. */}
        <span key={shown.id}>{shown.text}</span>
      </p>
    ),
  }
}
