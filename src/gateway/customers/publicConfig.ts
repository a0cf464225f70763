import {
  array,
  boolean,
  custom,
  type InferOutput,
  integer,
  maxValue,
  minValue,
  number,
  optional,
  picklist,
  pipe,
  safeParse,
  strictObject,
  string,
  union,
} from 'valibot'
import { EVENT_NAMES, type Issue, type TrackingOperation } from '../../contract/index.ts'
import { suggest } from '../lib/suggest.ts'

const name = custom<string>(
  (value) => typeof value === 'string' && !!value.trim(),
  'Expected text that is not blank',
)
const whole = (from: number, to: number) =>
  pipe(number(), integer('Expected a whole number'), minValue(from), maxValue(to))
/** Settings of a part of the script; what stands in them is the part's own business. */
const partSettings = union(
  [
    boolean(),
    custom<Record<string, unknown>>(
      (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    ),
  ],
  'Expected true, false or an object',
)

const operations = Object.keys(EVENT_NAMES) as TrackingOperation[]

/**
 * What a customer may set for the script on its pages. Everybody can read it: no secret belongs here.
 * Every setting is optional; the defaults are the script's.
 */
const publicConfigSchema = strictObject({
  /** Whether the script may send several events in one request. Default true. */
  batch: optional(boolean()),
  /** Any 2xx acknowledges an event: for another service than this gateway. Default false. */
  anyOk: optional(boolean()),
  /** Stands before every event name. Default none. */
  eventPrefix: optional(string()),
  /** Event names in place of the usual ones, by operation. Default none. */
  events: optional(
    strictObject(
      Object.fromEntries(operations.map((operation) => [operation, optional(name)])) as {
        [O in TrackingOperation]: ReturnType<typeof optional<typeof name, undefined>>
      },
    ),
  ),
  /** `source` of every event that does not say its own. Default none. */
  source: optional(string()),
  /** The visitor's address, for a service that wants the page to say it. Default none. */
  remoteAddr: optional(string()),
  /** The global that the helpers are at. Default track, shoptrail where the page has a track of its own. */
  global: optional(name),
  /** Which page views are reported by themselves. Default all. */
  pageViews: optional(picklist(['off', 'load', 'all'])),
  /** Event name of automatic page views. Default view_page. */
  pageViewEvent: optional(name),
  /** Whether a change of the query alone is a page view. Default false. */
  pageViewQuery: optional(boolean()),
  /** Whether a change of the fragment is a page view. Default false. */
  pageViewHash: optional(boolean()),
  /** Further parameters whose values are masked in addresses. Default none. */
  mask: optional(array(name)),
  /** An event older than this is dropped in the page, days, 1 to 365. Default 30. */
  maxAgeDays: optional(whole(1, 365)),
  /** Whether `data-track` attributes are read. Default true. */
  attributes: optional(boolean()),
  /** Whether pushes of shop plugins are read. Default true. */
  dataLayer: optional(boolean()),
  /** Name of the global array that plugins push to. Default dataLayer. */
  dataLayerName: optional(name),
  /** Prefix of the plugins' own event names. Default `__sm__`. */
  dataLayerPrefix: optional(string()),
  /** Adds the part that reads GA4 and Universal Analytics pushes. Default false. */
  ga4: optional(partSettings),
  /** Adds the part that reads schema.org products. Default false. */
  schemaOrg: optional(partSettings),
  /** The same thing reported in two ways within this time is one event, ms, 0 to 60,000. Default 5,000. */
  duplicateWindowMs: optional(whole(0, 60_000)),
})

/** Event name of automatic page views where the configuration names none. */
const PAGE_VIEW_EVENT = 'view_page'

/** The public configuration of a customer's tracking key. */
export type PublicConfig = InferOutput<typeof publicConfigSchema>

/** Checks a configuration, such as the command line gives it: the configuration, or every fault. */
export function readPublicConfig(
  value: unknown,
):
  | { readonly ok: true; readonly config: PublicConfig }
  | { readonly ok: false; readonly issues: readonly Issue[] } {
  const { success, output, issues } = safeParse(publicConfigSchema, value)
  if (success) {
    const clashes = findClashes(output)
    return clashes.length > 0 ? { ok: false, issues: clashes } : { ok: true, config: output }
  }
  return {
    ok: false,
    issues: issues.map(({ path, message, expected }) => {
      const at = path?.map(({ key }) => String(key)).join('.') ?? ''
      return { path: at, message: expected === 'never' ? unknownSetting(at) : message }
    }),
  }
}

const SETTINGS = Object.keys(publicConfigSchema.entries)

/** What is nested (`events.x`) is not named by a setting of the first level. */
const unknownSetting = (path: string): string =>
  path.includes('.')
    ? 'There is no such setting'
    : `There is no such setting. Known are ${SETTINGS.join(', ')}.${suggest(path, SETTINGS)}`

/**
 * Event names that would make one operation's events look like another's: the gateway tells operations
 * apart by the name alone where it knows it, and then the other's fields are missing.
 */
function findClashes({ events = {}, pageViewEvent }: PublicConfig): Issue[] {
  const ownerOf = new Map<string, TrackingOperation>()
  for (const operation of operations)
    if (EVENT_NAMES[operation]) ownerOf.set(EVENT_NAMES[operation], operation)
  ownerOf.set(pageViewEvent ?? PAGE_VIEW_EVENT, 'viewHomepage')
  const issues: Issue[] = []
  const usual = operations.find((operation) => EVENT_NAMES[operation] === pageViewEvent)
  if (usual && usual !== 'viewHomepage')
    issues.push({
      path: 'pageViewEvent',
      message: `${pageViewEvent} is the event name of ${usual}`,
    })
  for (const operation of operations) {
    const name = events[operation]
    if (name === undefined) continue
    const owner = ownerOf.get(name)
    if (owner && owner !== operation)
      issues.push({ path: `events.${operation}`, message: `${name} is the event name of ${owner}` })
    else ownerOf.set(name, operation)
  }
  return issues
}
