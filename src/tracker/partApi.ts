import type { Config } from './config.ts'
import type { Reader } from './dataLayer.ts'
import type { Reports } from './duplicates.ts'
import type { Notices } from './notices.ts'
import type { Track } from './track.ts'

/**
 * What an optional part of the script gets: one object a page, whichever key brought the part. A part
 * is a function of it, called once the page is shown and before the dataLayer is read; it leaves its
 * mark in the object, so that a second key's copy of it does nothing.
 */
export type PartApi = {
  readonly track: Track
  readonly notices: Notices
  /** The configuration of each key on this page; one may join later. */
  readonly configs: ReadonlyMap<string, Config>
  /** What was reported lately, for who keeps it over a navigation. */
  readonly reports: Reports
  /** Adds a reader of the dataLayer. */
  read(reader: Reader): void
  ga4?: true
  schemaOrg?: true
}
