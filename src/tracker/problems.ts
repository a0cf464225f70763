import type { Issue } from '../contract/errors.ts'
import type { Store } from './lib/storage.ts'
import type { Notice } from './notices.ts'

/*
 * Dropped events are counted, and reported to the gateway with the next request (docs/decisions.md, "Problem reports").
 * An invalid event causes no request, and its page may be left at once, so what is counted is stored.
 */

/** Storage names are this prefix and the tracking key. */
export const PROBLEMS = 'track.p.'
/** The most characters that are stored for each key. What is above it, the oldest, is lost. */
const MAX_CHARACTERS = 1500

/**
 * Stores a line for each dropped event: reason, operation, path of the first fault, path of the page. An event that is
 * dropped as it should be (`duplicate`, `no_consent`, `ignored`) is no problem, and a notice without a key is not of an
 * event.
 */
export const createCount =
  (store: Store) =>
  (notice: Notice & { readonly issues?: readonly Issue[] }): void => {
    const { key, operation, reason, error = notice } = notice
    const name = PROBLEMS + key
    // Letters of invalid, refused, outbox_full and too_old, and of no other reason: smaller than their names.
    if (key && /v|f|_o/.test(reason as string))
      store.set(
        name,
        [[reason, operation, error.issues?.[0]?.path, location.pathname], store.get(name)]
          .join('\n')
          .slice(0, MAX_CHARACTERS),
      )
  }
