import { DUPLICATE_WINDOW_MS } from '../contract/settings.ts'
import type { Config } from './config.ts'
import type { TrackReporter } from './global.d.ts'
import { now } from './lib/now.ts'

export type Reporter = TrackReporter

/** The most subjects that are remembered. */
const MAX_REPORTS = 500

/** The first report of an action of the visitor. */
export type Report = {
  /** When it was reported, ms since 1970. */
  readonly at: number
  /** The event as JSON, without the fields of visitor and page. */
  readonly text: string
  /** Everything that has reported this action. */
  readonly by: Reporter[]
  /** The DOM event that was dispatched at that time, if any. Weak, because it would keep its elements in memory. */
  readonly during?: WeakSet<Event>
}

/** Recent reports, by tracking key, event name and subject (a product, a search term, an e-mail address). */
export type Reports = Map<string, Report[]>

/** Two reporters may give different SKUs for the same variation. */
const withoutSku = (text: string) => text.replace(/,"sku".*/, '')

/** Returns whether the same action was reported already. If not, remembers it. */
export type IsDuplicate = (
  config: Config,
  payload: { readonly [name: string]: unknown },
  reporter: Reporter,
) => boolean

/**
 * Makes one event of each action of the visitor. An event is a duplicate if an earlier report has the same content
 * (event name with product, quantity and variation, or with the search term, or with the person's data), and
 *
 * - is from another reporter, within the window: an attribute and a plugin's push for one click. Each report matches
 *   one report of each other reporter, so two clicks reported in two ways remain two events. The time of the report
 *   counts, not that of the action, because everything from before the script has loaded is reported when it starts.
 * - or is from the same reporter, during the same DOM event: a theme that runs its code twice. Otherwise two reports of
 *   one reporter are two actions.
 *
 * If one of the reporters reads GA4, only event name and subject are compared, because GA4 has no variations
 * (docs/decisions.md, "Duplicates").
 *
 * @param reports Filled with those of the previous page, if a part has stored them.
 */
export const createIsDuplicate =
  (reports: Reports): IsDuplicate =>
  ({ key, duplicateWindowMs = DUPLICATE_WINDOW_MS }, payload, reporter) => {
    // Without the fields of visitor and page, and without a prototype, because pages extend it with `toJSON`.
    const rest = { __proto__: null, ...payload, did: 0, url: 0, http_user_agent: 0, source: 0 }
    // `check` has put the fields in the order of the schema: quantity, variation.id and last the SKU.
    const text = key + JSON.stringify(rest)
    const subject = text.replace(/,"quantity".*/, '')
    const at = now()
    // A page may have a global `event` of its own.
    const event = self.event?.eventPhase ? [self.event] : []
    const recent = (reports.get(subject) ?? []).filter(
      (report) => Math.abs(at - report.at) < +duplicateWindowMs,
    )
    const first = recent.find(({ by, during, text: before }) =>
      by.includes(reporter)
        ? before === text && during?.has(event[0] as Event)
        : withoutSku(before) === withoutSku(text) || /ga4/.test(`${by}${reporter}`),
    )
    if (first) first.by.push(reporter)
    else recent.push({ at, text, by: [reporter], during: new WeakSet(event) })
    if (reports.size > MAX_REPORTS) reports.clear()
    reports.set(subject, recent)
    return !!first
  }
