import type { Config } from './config.ts'
import { now } from './lib/now.ts'
import type { Origin } from './track.ts'

/** The same thing reported in two ways within this time is one event, unless the key says otherwise, ms. */
const WINDOW_MS = 5000
/** So many different things are remembered; a page that reports more begins anew. */
const MAX_REMEMBERED = 1000

/** One action of a visitor, as it was first reported. */
export type Report = {
  /** When it was reported, ms since 1970. */
  readonly at: number
  /** What the event says beside its name and its subject. */
  readonly detail: string
  /** Who has reported it. */
  readonly by: Origin[]
  /** The DOM event that the page was in then. */
  readonly during?: Event | undefined
}

/** Recent reports, by tracking key, event name and subject (a product, a search term, an address). */
export type Reports = Map<string, Report[]>

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
 * Where one of the two reporters reads GA4, the name and the subject decide (ga4.md, section 5, rule
 * 2): it knows no variations.
 *
 * @param reports Those of the page before, where somebody kept them.
 */
export const createIsDuplicate =
  (reports: Reports): IsDuplicate =>
  ({ key, duplicateWindowMs = WINDOW_MS }, payload, from = 'call') => {
    const { event, product_id, search_term, email_address, firstname, lastname, phone } = payload
    const subject = `${[key, event, product_id, search_term, email_address, firstname, lastname, phone]}`
    const variation = payload.variation as { id?: unknown } | undefined
    const detail = `${[payload.quantity, variation?.id]}`
    const at = now()
    const during = window.event
    const recent = (reports.get(subject) ?? []).filter(
      (report) => at - report.at < +duplicateWindowMs,
    )
    const twin = recent.find((report) => {
      const isSame = report.detail === detail
      return report.by.includes(from)
        ? isSame && during && report.during === during
        : isSame || `${report.by},${from}`.includes('ga4')
    })
    if (twin) twin.by.push(from)
    else recent.push({ at, detail, by: [from], during })
    if (reports.size > MAX_REMEMBERED) reports.clear()
    reports.set(subject, recent)
    return !!twin
  }
