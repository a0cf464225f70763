import type { InspectorState } from '../debug.ts'
import type { Part } from '../parts.ts'

/**
 * Makes the inspector a part of the script, which debug mode (debug.ts) starts. So it is started once on a page, however
 * often `track.debug` is called.
 *
 * @param start Receives the state of the script. Reads `seen` and subscribes before its first `await`. Returns what is to
 * be called when debug mode is switched on again.
 * @returns The part. What it returns ends the recording of notices, at the start and after each `track.debug(true)`.
 */
export const createPart =
  (start: (state: InspectorState) => () => void): Part =>
  (_track, configs, notices, _readers, _reports, _newId, _session, outbox, _deviceId, helpers) => {
    const again = start({ helpers, configs, outbox, seen: notices.seen ?? [] })
    let isStarted = false
    return () => {
      // Called for another key, too.
      if (isStarted && notices.seen) again()
      isStarted = true
      notices.seen = undefined
    }
  }
