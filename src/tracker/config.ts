import type { TrackingOperation } from '../contract/events.ts'

/**
 * The public configuration of a tracking key: the gateway puts it behind the bundle, and `data-*`
 * attributes of the script's tag override it on a page (`data-event-prefix` is `eventPrefix`).
 */
export type Config = {
  /** The tracking key. */
  readonly key: string
  /** The gateway's address, without a slash at its end. Served only where the gateway has a PUBLIC_URL. */
  base: string
  /** The gateway's PUBLIC_URL, where it has one: used where `base` answers with a redirect. */
  readonly served?: string
  /** The global that the helpers are at; the page's first key says it. Default `track`, `shoptrail` where that is taken. */
  readonly global?: string
  /** Whether POST /t/batch may be used. */
  readonly batch?: boolean | string
  /** Any 2xx acknowledges: `base` is another service, which does not name the event's id. */
  readonly anyOk?: boolean | string
  /** Stands before every event name that the caller did not give. Default none. */
  readonly eventPrefix?: string
  /** The same as the gateway knows it, whatever the tag says. Default none. */
  readonly knownPrefix?: string
  /** Event names in place of the usual ones, by operation. Default none. */
  readonly events?: { readonly [O in TrackingOperation]?: string }
  /** `source` of every event that does not say its own. Default none. */
  readonly source?: string
  /** The visitor's address, where the page knows it and the service wants it. Default none. */
  readonly remoteAddr?: string
  /** Further parameters whose values are masked in addresses, in an attribute separated by commas. Default none. */
  readonly mask?: readonly string[] | string
  /** An event older than this is dropped, days. Default 30. */
  readonly maxAgeDays?: number
  /** Which pages are counted: none, those loaded, or also those a router shows. Default `all`. */
  readonly pageViews?: 'off' | 'load' | 'all'
  /** Event name of an automatic page view, before the prefix. Default `view_page`. */
  readonly pageViewEvent?: string
  /** Whether a change of the query alone is a new page. Default false. */
  readonly pageViewQuery?: boolean | string
  /** Whether a change of the fragment alone is a new page, for hash routers. Default false. */
  readonly pageViewHash?: boolean | string
  /** Whether `data-track` attributes are read. Default true. */
  readonly attributes?: boolean | string
  /** Whether pushes of shop plugins are read. Default true. */
  readonly dataLayer?: boolean | string
  /** Name of the global array that plugins push to; the page's first key says it. Default `dataLayer`. */
  readonly dataLayerName?: string
  /** Prefix of the plugins' own event names; the page's first key says it. Default `__sm__`. */
  readonly dataLayerPrefix?: string
  /** The same thing reported in two ways within this time is one event, ms. 0: never. Default 5000. */
  readonly duplicateWindowMs?: number | string
  /** Whether GA4 and Universal Analytics pushes are read, and how (parts/ga4.ts). Default false. */
  readonly ga4?: unknown
  /** Whether a page's schema.org product is read (parts/schemaOrg.ts). Default false. */
  readonly schemaOrg?: unknown
}

/**
 * The configuration of this key on this page. The gateway is where the script was loaded from, since
 * only the page knows the address that leads there (a proxy on the shop's own host). Where the script
 * was moved, inlined or evaluated, no tag tells it, and the address served with the script is used: the
 * gateway's PUBLIC_URL.
 *
 * An attribute of the tag that says `false` switches off; one that says nothing does too.
 *
 * @param served As the gateway wrote it.
 * @throws Where neither knows the gateway's address: then the script must not start.
 */
export function readConfig(served: Config, page: Document): Config {
  const tag = (page.currentScript ??
    page.querySelector(`script[src*="/t/j/${served.key}"]`)) as HTMLScriptElement | null
  const base = tag?.src?.match(/(.*)\/t\/j\//)?.[1]
  // Without a prototype: what a page adds to Object.prototype is no setting.
  const config: { [name: string]: unknown } = {
    __proto__: null,
    ...served,
    ...(base && { base }),
    ...tag?.dataset,
    key: served.key,
    events: served.events,
    knownPrefix: served.eventPrefix ?? '',
    served: served.base,
  }
  for (const name in tag?.dataset) if (config[name] === 'false') config[name] = false
  if (!config.base) throw config
  return config as Config
}
