import { DUPLICATE_WINDOW_MS } from '../contract/settings.ts'
import type { Config } from './config.ts'
import { now } from './lib/now.ts'

/** Who saw it. */
export type Origin =
  | 'call'
  | 'attribute'
  | 'pageView'
  | 'dataLayer'
  | 'ga4'
  | 'ga4.gtag'
  | 'ga4.ua'
  | 'schemaOrg'

/** So many subjects are remembered. */
const MAX_REPORTS = 500
/** One action of a visitor, as it was first reported. */
export type Report = {
  /** When it was reported, ms since 1970. */
  readonly at: number
  /** The event without what belongs to visitor and page. */
  readonly said: string
  /** Who has reported it. */
  readonly by: Origin[]
  /** The DOM event that the page was in then, if any, held weakly: it would keep its nodes alive. */
  readonly during?: WeakSet<Event>
}

/** Recent reports, by tracking key, event name and subject (a product, a search term, an address). */
export type Reports = Map<string, Report[]>

/** Two reporters need not agree on the SKU. */
const withoutSku = (said: string) => said.replace(/,"sku".*/, '')

/** Whether an event is one that was reported already; if not, it is remembered. */
export type IsDuplicate = (
  config: Config,
  payload: { readonly [name: string]: unknown },
  from?: Origin,
) => boolean

/**
 * One action, one event. An event is a duplicate when an earlier report says the same (its name and
 * product, quantity and variation; or search term; or address, names and phone) and
 *
 * - came from somebody else within the window: an attribute and a plugin's push for one click. One for
 *   one, since a report stands for one of each other reporter's: two clicks reported in two ways stay
 *   two. The moment of the report counts, not of the action, since calls and pushes made before the
 *   script are all reported when it comes.
 * - or came from the same reporter during the same DOM event: a theme that runs its code twice. Apart
 *   from that a reporter who says a thing twice means it twice.
 *
 * Where one of the two reporters reads GA4, the name and the subject decide (docs/decisions.md,
 * "Duplicates"): it knows no variations.
 *
 * @param reports Those of the page before, where somebody kept them.
 */
export const createIsDuplicate =
  (reports: Reports): IsDuplicate =>
  ({ key, duplicateWindowMs = DUPLICATE_WINDOW_MS }, payload, from = 'call') => {
    // Without what belongs to visitor and page; without a prototype, whose toJSON would be the page's.
    const rest = { __proto__: null, ...payload, did: 0, url: 0, http_user_agent: 0, source: 0 }
    // The contract has put the fields in order: quantity, variation.id and at last the SKU.
    const said = key + JSON.stringify(rest)
    const subject = said.replace(/,"quantity".*/, '')
    const at = now()
    // `event` is a name that pages use for something else too.
    const event = window.event?.eventPhase ? [window.event] : []
    const recent = (reports.get(subject) ?? []).filter(
      (report) => Math.abs(at - report.at) < +duplicateWindowMs,
    )
    const twin = recent.find(({ by, during, said: before }) =>
      by.includes(from)
        ? before === said && during?.has(event[0] as Event)
        : withoutSku(before) === withoutSku(said) || /ga4/.test(`${by}${from}`),
    )
    if (twin) twin.by.push(from)
    else recent.push({ at, said, by: [from], during: new WeakSet(event) })
    // What a page reports has no end.
    if (reports.size > MAX_REPORTS) reports.clear()
    reports.set(subject, recent)
    return !!twin
  }
