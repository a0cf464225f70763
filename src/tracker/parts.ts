import type { Config } from './config.ts'
import type { Reports } from './duplicates.ts'
import { guard } from './lib/guard.ts'
import type { Notices } from './notices.ts'
import type { Track } from './track.ts'

/**
 * Reads one push. May throw: what can not be read is ignored.
 *
 * @param push As pushed; the page may change it later.
 * @param before What this reader answered when the same object was last pushed.
 * @returns What the push says, as text; empty where it is none of the reader's. An object that says
 * what it said before is not reported again.
 */
export type Reader = (push: object, before: string | undefined) => string

/** The readers of a page, each with the objects it has read. */
export type Readers = Map<Reader, WeakMap<object, string>>

/**
 * An optional part of the script, which is built in where a key's configuration switches it on. Started
 * once a page, whichever key brought it. A second key may bring it with a copy of the script that does not
 * run: so what has a state is handed over, and what has none a part imports.
 *
 * @param configs The configuration of each key on this page; one may join later.
 * @param readers Read every push of the dataLayer.
 * @param reports What was reported lately, for who keeps it over a navigation.
 * @param newId Makes an event's id, for a part that reports later than it sees.
 * @returns What it does for each key on the page, the first one too; nothing where that is nothing.
 */
export type Part = (
  track: Track,
  configs: ReadonlyMap<string, Config>,
  notices: Notices,
  readers: Readers,
  reports: Reports,
  newId: (at: number) => string,
) => ((config: Config) => void) | undefined

export type Parts = { readonly [name: string]: Part }

/** @returns Starts the parts that a key brings, and tells every part on the page of the key. */
export function createParts(...state: Parameters<Part>): (parts: Parts, config: Config) => void {
  const started: { [name: string]: ReturnType<Part> } = {}
  return (parts, config) => {
    // The page may lack what a part stands on; the others go on.
    for (const name in parts)
      if (!(name in started)) started[name] = guard(() => parts[name]?.(...state))
    for (const name in started) guard(() => started[name]?.(config))
  }
}
