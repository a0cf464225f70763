import type { InspectorState } from '../debug.ts'
import type { Part } from '../parts.ts'

/**
 * Makes the inspector a part of the script, which debug mode (debug.ts) starts. So it is started once on a page, however
 * often `track.debug` is called.
 *
 * @param start Receives the state of the script. Reads `seen` and subscribes before its first `await`.
 * @returns The part. What it returns ends the recording of notices, at the start and after each `track.debug(true)`.
 */
export const createPart =
  (start: (state: InspectorState) => unknown): Part =>
  (_track, configs, notices, _readers, _reports, _newId, _session, outbox, _deviceId, helpers) => {
    start({ helpers, configs, outbox, seen: notices.seen ?? [] })
    return () => {
      notices.seen = undefined
    }
  }
