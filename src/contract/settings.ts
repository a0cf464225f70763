import { array, boolean, custom, type GenericSchema, type InferOutput } from 'valibot'
import { EVENT_NAMES } from './eventNames.ts'
import { oneOf } from './fields.ts'
import type { TrackingOperation } from './payloads.ts'

/*
 * The settings of a tracking key: for each its schema, its default and its line of documentation. The gateway checks
 * with them, the script takes its defaults from here, and docs/settings.md and the help of the command line list them.
 *
 * Everybody can read the settings of a key, since they are part of its script. They must not contain a secret.
 */

// Defaults that the script needs. One constant each, since the minifier can inline constants.
export const PAGE_VIEW_EVENT = 'view_page'
export const ATTRIBUTES = true
export const DATA_LAYER = true
export const DATA_LAYER_NAME = 'dataLayer'
export const DATA_LAYER_PREFIX = '__sm__'
export const DUPLICATE_WINDOW_MS = 5000
export const CONSENT_EVENTS = 50
export const GLOBAL = 'track'
export const MAX_AGE_DAYS = 30

/** A setting: one value, an object with fields of its own, or either. */
export type Setting = {
  /** The rule of the value; its message completes "Expected …". Absent if the value is always an object. */
  readonly schema?: GenericSchema
  /** The settings in the value, if it is an object. */
  readonly fields?: { readonly [name: string]: Setting }
  /** Undefined if there is none. */
  readonly default?: unknown
  /** One line. Code is in backticks. */
  readonly doc: string
}

/** Every setting of a key. All are optional. */
export const SETTINGS = /* @__PURE__ */ createSettings()

/** In a function, because the bundler leaves an unused call out of the script, but not constants that it makes. */
function createSettings() {
  const onOrOff = boolean('true or false')
  const text = custom<string>((value) => typeof value === 'string', 'text')
  const name = custom<string>(
    (value) => typeof value === 'string' && !!value.trim(),
    'text that is not blank',
  )
  const whole = (from: number, to: number) =>
    custom<number>(
      (value) => Number.isInteger(value) && Number(value) >= from && Number(value) <= to,
      `a whole number from ${from} to ${to}`,
    )
  const path = custom<string>((value) => /^\//.test(`${value}`), 'a path that begins with /')
  const pattern = custom<string>((value) => {
    try {
      return typeof value === 'string' && !!new RegExp(value)
    } catch {
      return false
    }
  }, 'a regular expression')
  const table = custom<{ readonly [found: string]: string | number }>(
    (value) =>
      ({}).toString.call(value) === '[object Object]' &&
      Object.values(value as object).every((id) => /^(string|number)$/.test(typeof id)),
    'an object whose values are text or numbers',
  )

  /** How the GA4 reader maps a shop's own habits. */
  const GA4_FIELDS = {
    productId: {
      fields: {
        from: {
          schema: name,
          default: 'item_id',
          doc: 'the parameter of an item that holds the product id; without `item_id` it is `id`',
        },
        pattern: {
          schema: pattern,
          doc: 'a regular expression that finds the id in that parameter: its first group, else its whole match',
        },
        table: {
          schema: table,
          doc: "the shop's product id for each id found. Items with an id that is not in the table are not sent",
        },
      },
      doc: 'where an item holds the product id, such as `{"from": "item_sku", "pattern": "^shop-([0-9]+)$"}`',
    },
    variationId: {
      schema: name,
      default: 'item_variant',
      doc: 'the parameter of an item that holds the id of the variation; `item_variant` only if it is a number',
    },
    sku: { schema: name, default: 'item_id', doc: 'the parameter of an item that holds the SKU' },
    quantity: {
      schema: oneOf(['up']),
      doc: '`"up"` rounds fractions up; by default a line with a fraction is not sent',
    },
    homepage: {
      schema: array(path, 'a list of paths'),
      doc: 'a list of paths whose page views are sent as `view_homepage`',
    },
    searchResults: {
      schema: onOrOff,
      default: false,
      doc: 'reads `view_search_results` as a search, for shops that push no `search`',
    },
    userData: {
      schema: onOrOff,
      default: false,
      doc: "reads the e-mail address in `user_data` as a `set_email`. It needs the visitor's consent",
    },
  } as const satisfies { readonly [name: string]: Setting }

  /** Where another script has kept the visitor's id. */
  const ADOPT_FIELDS = {
    cookie: { schema: name, doc: 'the name of the cookie' },
    storage: { schema: name, doc: 'the name in localStorage, instead of a cookie' },
    path: {
      schema: name,
      doc: 'if the value is JSON: the fields that lead to the id, such as `visitor.id`; without it the value itself is the id',
    },
  } as const satisfies { readonly [name: string]: Setting }

  const EVENT_FIELDS = Object.fromEntries(
    Object.keys(EVENT_NAMES).map((operation) => [operation, { schema: name, doc: '' }]),
  ) as { readonly [O in TrackingOperation]: { readonly schema: typeof name; readonly doc: string } }

  return {
    pageViews: {
      schema: oneOf(['off', 'load', 'all']),
      default: 'all',
      doc: 'which page views are reported: `"off"` none, `"load"` only loaded pages, `"all"` also pages that a router shows',
    },
    pageViewEvent: {
      schema: name,
      default: PAGE_VIEW_EVENT,
      doc: 'the event name of reported page views',
    },
    pageViewQuery: {
      schema: onOrOff,
      default: false,
      doc: 'a change of only the query is a page view too',
    },
    pageViewHash: {
      schema: onOrOff,
      default: false,
      doc: 'a change of only the fragment is a page view too, for routers that use it',
    },
    attributes: {
      schema: onOrOff,
      default: ATTRIBUTES,
      doc: 'reads `data-track` attributes; without it the script is a seventh smaller',
    },
    dataLayer: {
      schema: onOrOff,
      default: DATA_LAYER,
      doc: 'reads what shop plugins push',
    },
    dataLayerName: {
      schema: name,
      default: DATA_LAYER_NAME,
      doc: 'the global array that plugins push to',
    },
    dataLayerPrefix: {
      schema: text,
      default: DATA_LAYER_PREFIX,
      doc: "the prefix of the plugins' event names",
    },
    ga4: {
      schema: boolean('true, false or an object'),
      fields: GA4_FIELDS,
      default: false,
      doc: "reads pushes for GA4 and Universal Analytics: `true`, or an object that maps a shop's own parameters",
    },
    schemaOrg: {
      schema: onOrOff,
      default: false,
      doc: 'reports the product that a page describes with schema.org',
    },
    duplicateWindowMs: {
      schema: whole(0, 60_000),
      default: DUPLICATE_WINDOW_MS,
      doc: 'time in which the same thing reported in two ways is one event, ms, 0 to 60,000',
    },
    consent: {
      schema: oneOf(['granted', 'required', 'cookieless']),
      default: 'granted',
      doc: 'what happens before the visitor\'s consent: `"granted"` everything, `"required"` nothing is stored or sent, `"cookieless"` events are sent without a device id and nothing is stored. With `consentSources` the default is `"required"`',
    },
    consentSources: {
      schema: array(name, 'a list of names'),
      doc: 'a list of what tells the script the visitor\'s consent: `"consentMode"`, `"tcf"`, the name of a consent tool, or `"auto"` for the tool that is on the page',
    },
    consentTypes: {
      schema: array(name, 'a list of names'),
      default: ['analytics_storage'],
      doc: 'the types of consent that `"consentMode"` has to grant, all of them',
    },
    consentRegion: {
      schema: name,
      doc: 'the visitor\'s region (ISO 3166-2), such as `DE` or `US-CA`, for the regional defaults of `"consentMode"`; the page can set it on the tag',
    },
    tcfPurposes: {
      schema: array(whole(1, 11), 'a list of numbers'),
      default: [1, 7, 8],
      doc: 'the purposes that `"tcf"` has to allow, all of them',
    },
    tcfVendor: {
      schema: whole(1, 65_535),
      doc: 'the vendor that `"tcf"` has to allow too: a number of IAB\'s vendor list',
    },
    consentCategory: {
      schema: name,
      doc: "the category that a consent tool has to allow; by default the tool's own one for statistics",
    },
    consentReplay: {
      schema: onOrOff,
      default: true,
      doc: 'with `"required"`, what happened on the page before the consent is sent after it',
    },
    consentEvents: {
      schema: whole(0, 500),
      default: CONSENT_EVENTS,
      doc: 'the most events of a page that are held in memory until the consent, 0 to 500',
    },
    gpc: {
      schema: onOrOff,
      default: true,
      doc: 'Global Privacy Control counts as a refusal, for a key that asks for consent; if it is set to `true`, for every key',
    },
    dnt: { schema: onOrOff, default: false, doc: 'Do Not Track counts as a refusal' },
    exclude: {
      schema: array(path, 'a list of paths'),
      doc: 'a list of paths whose pages report nothing; `*` stands for any text: `"/account/*"`',
    },
    adoptDid: {
      schema: boolean('true, false or an object'),
      fields: ADOPT_FIELDS,
      default: true,
      doc: 'takes over the device id that another script gave a visitor: `true` that of the cookie `__sm__c`, if `dataLayerPrefix` is `__sm__`; an object names another place',
    },
    cookieDomain: {
      schema: oneOf(['auto']),
      doc: '`"auto"` keeps the device id also in a cookie that all subdomains of the shop share',
    },
    firstParty: {
      schema: onOrOff,
      default: false,
      doc: "the gateway also sets the device id as a cookie, if the shop serves the gateway's `/t/` under its own host",
    },
    global: {
      schema: name,
      default: GLOBAL,
      doc: 'the global variable with the helpers; `shoptrail` if the page has a `track` of its own',
    },
    eventPrefix: { schema: text, doc: 'a prefix of every event name' },
    events: {
      fields: EVENT_FIELDS,
      doc: 'event names that replace the usual ones, by operation: `{"search": "find"}`',
    },
    source: { schema: text, doc: '`source` of every event' },
    remoteAddr: {
      schema: text,
      doc: "the visitor's IP address, if the page knows it; this gateway replaces it",
    },
    mask: {
      schema: array(name, 'a list of names'),
      doc: "a list of further parameters whose values are masked in URLs; on the script's tag, separated by commas",
    },
    maxAgeDays: {
      schema: whole(1, 365),
      default: MAX_AGE_DAYS,
      doc: 'an event that could not be delivered for this long is dropped, days, 1 to 365',
    },
    batch: {
      schema: onOrOff,
      default: true,
      doc: 'the script may send several events in one request',
    },
    anyOk: {
      schema: onOrOff,
      default: false,
      doc: 'any 2xx answer acknowledges an event, for another service than this gateway',
    },
  } as const satisfies { readonly [name: string]: Setting }
}

/** The value of a setting. */
type ValueOf<S> =
  | (S extends { readonly schema: infer T extends GenericSchema } ? InferOutput<T> : never)
  | (S extends { readonly fields: infer F } ? ValuesOf<F> : never)

type ValuesOf<F> = { readonly [K in keyof F]?: ValueOf<F[K]> }

/** The settings of a key. */
export type KeySettings = ValuesOf<typeof SETTINGS>
/** The setting `ga4` as an object. */
export type Ga4Settings = ValuesOf<(typeof SETTINGS)['ga4']['fields']>
/** The setting `adoptDid` as an object. */
export type AdoptSettings = ValuesOf<(typeof SETTINGS)['adoptDid']['fields']>
/** The setting `adoptDid` as the script gets it. */
export type AdoptSource = readonly [
  /** A regular expression. Its first group is the id: 8 to 64 characters of A-Z a-z 0-9 . _ - */
  pattern: string,
  /** The name in localStorage of the text that contains the id. Default: the text is that of all cookies. */
  storage?: string | undefined,
]
