import type { Config } from './config.ts'
import type { DeviceId } from './deviceId.ts'
import type { Reports } from './duplicates.ts'
import type { TrackApi } from './global.d.ts'
import { guard } from './lib/guard.ts'
import type { Store } from './lib/storage.ts'
import type { Notices } from './notices.ts'
import type { Outbox } from './outbox.ts'
import type { Track } from './track.ts'

/**
 * Reads one object that was pushed into the dataLayer. May throw; the object is then ignored.
 *
 * @param push The pushed object. The page may change it later.
 * @param before What this reader returned for the same object before.
 * @returns The relevant content of the object, as text, empty if it has none. If this is `before`, the object was
 * not reported again.
 */
export type Reader = (push: object, before: string | undefined) => string

/** The readers of a page, each with its results for the objects that it has read. */
type Readers = Map<Reader, WeakMap<object, string>>

/**
 * An optional part of the script. The build makes a script for each set of parts, and the gateway serves the one that a
 * key's settings need. A part is started once on a page, even if several keys need it. It may come from the copy of the
 * script that a second key loads, so all state is passed as parameters. A part imports only modules without state.
 *
 * @param configs The configuration of each key on this page. Keys may join later.
 * @param readers Readers of the dataLayer.
 * @param reports Recent reports, for a part that keeps them over a navigation.
 * @param newId Makes an event's id, for a part that reports an event later than it happens.
 * @param session sessionStorage.
 * @param outbox For the consent part, as are the following.
 * @param helpers `window.track`.
 * @param setOpen Opens or closes storage and cookies. While they are closed, each access fails as if they were blocked.
 * @param begin Takes over what earlier pages have stored, and sends. To be called after opening them later than at the
 * start.
 * @returns Called for each key on the page, the first one too. Undefined if there is nothing to do for a key.
 */
export type Part = (
  track: Track,
  configs: ReadonlyMap<string, Config>,
  notices: Notices,
  readers: Readers,
  reports: Reports,
  newId: (at: number) => string,
  session: Store,
  outbox: Outbox,
  deviceId: DeviceId,
  helpers: TrackApi,
  setOpen: (isOpen: boolean) => void,
  begin: () => void,
) => ((config: Config) => void) | undefined

export type Parts = { readonly [name: string]: Part | undefined }

/** @returns Starts the parts of a key that are not started yet, and calls all parts on the page for that key. */
export function createParts(...state: Parameters<Part>): (parts: Parts, config: Config) => void {
  // Without a prototype, and only own names: functions that a page adds to Object.prototype are no parts.
  const started: { [name: string]: ReturnType<Part> } = { __proto__: null } as never
  return (parts, config) => {
    // The browser may lack an API that one part needs. The others still start.
    for (const name of Object.keys(parts))
      if (!(name in started)) started[name] = guard(() => parts[name]?.(...state))
    for (const name in started) guard(() => started[name]?.(config))
  }
}
