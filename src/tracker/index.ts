import { consentConfig } from '../contract/consentConfig.ts'
import type { KeySettings } from '../contract/settings.ts'
import { UUID } from '../contract/uuid.ts'
import type { TrackApi, TrackOutcome } from './api.d.ts'
import type { Config } from './config.ts'
import type { DeviceCookie } from './deviceCookie.ts'
import { deviceCookie as keepInCookie } from './deviceCookie.ts'
import { DID_NAME } from './deviceId.ts'
import { guard } from './lib/guard.ts'
import { isExcluded } from './lib/isExcluded.ts'
import { watchSources } from './lib/watchSources.ts'
import { attributes as readAttributes } from './parts/attributes.ts'
import { consent as askConsent } from './parts/consent.ts'
import { dataLayer as readDataLayer } from './parts/dataLayer.ts'
import { ga4 as readGa4 } from './parts/ga4.ts'
import { pageViews as readPageViews } from './parts/pageViews.ts'
import { schemaOrg as readSchemaOrg } from './parts/schemaOrg.ts'
import type { Parts } from './parts.ts'
import { schemas } from './schemas.ts'
import { runTracker } from './tracker.ts'

/*
 * The tracker for pages that bundle their code: the same as the script, but without its tag, its parts as imports, and
 * without a global variable. Everything that is exported here is public, so its types name nothing of another library.
 */

export type {
  CommonFields,
  ProductLine,
  TrackApi,
  TrackConsent,
  TrackDropReason,
  TrackIssue,
  TrackNotice,
  TrackOutcome,
  TrackReporter,
} from './api.d.ts'

/** A part of the tracker. Import those that you use, so that your bundle contains no others. */
export type TrackerPart = (...state: never[]) => unknown

/** Reports page views: loaded pages, and those that a router shows. */
export const pageViews: TrackerPart = readPageViews
/** Reports elements with `data-track`. */
export const attributes: TrackerPart = readAttributes
/** Reads what shop plugins push into the `dataLayer`. */
export const dataLayer: TrackerPart = readDataLayer
/** Reads what is pushed for GA4. Needs the part `dataLayer`. */
export const ga4: TrackerPart = readGa4
/** Reports the product that a page describes with schema.org. */
export const schemaOrg: TrackerPart = readSchemaOrg
/** Asks for the visitor's consent: needed for the settings `consent`, `gpc` and `dnt`. */
export const consent: TrackerPart = askConsent
/** Reads the consent from other tools (`consentSources`), and knows excluded pages (`exclude`). Needs the part `consent`. */
export const consentSources: TrackerPart = (settings: KeySettings) => ({
  watchSources,
  isExcluded,
  ...consentConfig(settings),
})
/** Keeps the device id in a cookie too: needed for the settings `cookieDomain` and `firstParty`. */
export const deviceCookie: TrackerPart = keepInCookie

/** The parts of a tracker. Default: none. Then only its helpers report. */
export type TrackerParts = {
  readonly pageViews?: TrackerPart
  readonly attributes?: TrackerPart
  readonly dataLayer?: TrackerPart
  readonly ga4?: TrackerPart
  readonly schemaOrg?: TrackerPart
  readonly consent?: TrackerPart
  readonly consentSources?: TrackerPart
  readonly deviceCookie?: TrackerPart
}

/** The order in which parts start. consent decides whether anything may be read; dataLayer calls readers of others. */
const ORDER = ['consent', 'pageViews', 'attributes', 'ga4', 'schemaOrg', 'dataLayer'] as const

/** Settings of the tracking key (docs/settings.md). Those that are configured at the gateway are not fetched. */
export type TrackerSettings = {
  readonly pageViews?: 'off' | 'load' | 'all'
  readonly pageViewEvent?: string
  readonly pageViewQuery?: boolean
  readonly pageViewHash?: boolean
  readonly attributes?: boolean
  readonly dataLayer?: boolean
  readonly dataLayerName?: string
  readonly dataLayerPrefix?: string
  readonly ga4?:
    | boolean
    | {
        readonly productId?: {
          readonly from?: string
          readonly pattern?: string
          readonly table?: { readonly [found: string]: string | number }
        }
        readonly variationId?: string
        readonly sku?: string
        readonly quantity?: 'up'
        readonly homepage?: readonly string[]
        readonly searchResults?: boolean
        readonly userData?: boolean
      }
  readonly schemaOrg?: boolean
  readonly duplicateWindowMs?: number
  readonly consent?: 'granted' | 'required' | 'cookieless'
  readonly consentSources?: readonly string[]
  readonly consentTypes?: readonly string[]
  readonly consentRegion?: string
  readonly tcfPurposes?: readonly number[]
  readonly tcfVendor?: number
  readonly consentCategory?: string
  readonly consentReplay?: boolean
  readonly consentEvents?: number
  readonly gpc?: boolean
  readonly dnt?: boolean
  readonly exclude?: readonly string[]
  readonly cookieDomain?: 'auto'
  readonly firstParty?: boolean
  readonly eventPrefix?: string
  readonly events?: { readonly [operation: string]: string }
  readonly source?: string
  readonly remoteAddr?: string
  readonly mask?: readonly string[]
  readonly maxAgeDays?: number
  readonly batch?: boolean
  readonly anyOk?: boolean
}

/** What the tracker is to use in place of what it finds. All are optional. */
export type TrackerEnvironment = {
  /** Returns the page's address at this moment. Default: that of the document or worker. Give it in a worker and in a sandboxed frame. */
  readonly url?: () => string
  /** The user agent. Default: that of the browser. */
  readonly userAgent?: string
  /**
   * The device id, 1 to 128 characters. Default: the one in `storage`, else in a cookie, else a random one in memory. A
   * given one is stored nowhere, and `track.reset()` replaces it until the page is left.
   */
  readonly did?: string
  /** Keeps the device id and undelivered events, such as sessionStorage. Default: localStorage. Without one: memory. */
  readonly storage?: TrackerStorage
}

/** A Storage of the browser, or an object like it, whose own keys are the stored names. */
export type TrackerStorage = {
  getItem(name: string): string | null
  setItem(name: string, value: string): void
  removeItem(name: string): void
}

export type TrackerOptions = TrackerSettings &
  TrackerEnvironment & {
    /** The tracking key. */
    readonly key: string
    /** The gateway's address, such as `https://gateway.example`. */
    readonly base: string
    readonly parts?: TrackerParts
  }

/** Trackers by their key. */
const trackers = new Map<string, TrackApi>()

/**
 * Makes a tracker for a tracking key. It changes no global variable. A second call with the same key returns the same
 * tracker, with the options of the first.
 *
 * If the page has the script's tag for the same key, only the script reports by itself: parts other than `consent` are
 * not started, so that no page view counts twice.
 *
 * Without a browser (while a server renders the page) nothing is sent, and every helper resolves with `ignored`.
 *
 * @throws TypeError if the key or the gateway's address is missing, if `url` is no function, or if a setting needs a part
 * that is not given.
 */
export function createTracker(options: TrackerOptions): TrackApi {
  const { key, base, parts = {}, url, userAgent: _, did, storage, ...given } = options
  const settings = withoutUndefined(given)
  if (typeof key !== 'string' || !key)
    throw new TypeError('createTracker: `key` is the tracking key')
  if (!/^https?:\/\/./.test(base))
    throw new TypeError(
      'createTracker: `base` is the address of the gateway, such as https://gateway.example',
    )
  if (url !== undefined && typeof url !== 'function')
    throw new TypeError("createTracker: `url` is a function that returns the page's address")
  for (const [setting, part] of NEEDED)
    if (isOn(settings[setting]) && !parts[part])
      throw new TypeError(
        `createTracker: the setting ${setting} needs the part ${part}: import { ${part} } from 'shoptrail', and pass it in \`parts\``,
      )

  const known = trackers.get(key)
  if (known) return known
  const config = {
    batch: true,
    ...settings,
    ...(parts.consentSources as ((settings: object) => object) | undefined)?.(settings),
    key,
    base: base.replace(/\/+$/, ''),
    knownPrefix: settings.eventPrefix ?? '',
  } as Config
  const started: { [name: string]: TrackerPart | undefined } = {}
  const hasTag = isTagged(key)
  for (const name of ORDER) if (name === 'consent' || !hasTag) started[name] = parts[name]
  const globals: { track?: TrackApi } = {}
  // Without a browser it throws after the helpers are made.
  guard(() =>
    runTracker(
      config,
      started as Parts,
      globals,
      'track',
      () => (storage as Storage | undefined) ?? localStorage,
      did ? keepGiven(did) : (parts.deviceCookie as DeviceCookie | undefined),
    )(config, started as Parts),
  )
  const helpers = globals.track as TrackApi
  complete(helpers, options)
  trackers.set(key, helpers)
  return helpers
}

/** Makes the helpers use the address and the user agent that are given. */
function complete(helpers: TrackApi, { url, userAgent }: TrackerEnvironment): void {
  type Helper = (payload: unknown, options?: { readonly url: string }) => Promise<TrackOutcome>
  const all = helpers as unknown as { [name: string]: Helper }
  for (const name of Object.keys(schemas)) {
    const helper = all[name] as Helper
    all[name] = async (given) => {
      if (typeof location === 'undefined') return { ok: false, error: 'ignored' }
      const address = url && guard(url)
      const payload = userAgent ? guard(() => withAgent(given, userAgent), given) : given
      return helper(payload, address ? { url: address } : undefined)
    }
  }
}

function withAgent(given: unknown, userAgent: string): unknown {
  const payload = (given ?? {}) as { readonly http_user_agent?: unknown }
  if (typeof payload !== 'object') return given
  return { ...payload, http_user_agent: payload.http_user_agent ?? userAgent }
}

/** Settings that do nothing without a part. */
const NEEDED = [
  ['consent', 'consent'],
  ['gpc', 'consent'],
  ['dnt', 'consent'],
  ['consentSources', 'consent'],
  ['consentSources', 'consentSources'],
  ['exclude', 'consent'],
  ['exclude', 'consentSources'],
  ['ga4', 'dataLayer'],
  ['cookieDomain', 'deviceCookie'],
  ['firstParty', 'deviceCookie'],
] as const

/** A setting that is undefined counts as absent, since callers pass on options of their own. */
const withoutUndefined = <T extends object>(settings: T): T =>
  Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined)) as T

const isOn = (value: unknown) => !!value && value !== 'granted' && `${value}` !== ''

/** Whether the page has the tag of the script with this key. */
const isTagged = (key: string) =>
  guard(() =>
    [...document.querySelectorAll<HTMLScriptElement>('script[src]')].some(
      ({ src }) => /\/t\/j\/([^/?#]+)/.exec(src)?.[1] === key,
    ),
  )

/** Keeps a given device id, and one that replaces it after a reset, in memory. */
const keepGiven =
  (did: string): DeviceCookie =>
  (_config, store, _page, post) => {
    // deviceId.ts marks an id that is no UUID.
    let current: string | undefined = UUID.test(did) ? did : `=${did}`
    return [
      {
        ...store,
        get: (name) => (name === DID_NAME ? current : store.get(name)),
        set(name, text) {
          if (name !== DID_NAME) return store.set(name, text)
          current = text
          return true
        },
        remove(name) {
          if (name !== DID_NAME) return store.remove(name)
          current = undefined
        },
      },
      () => ({ cookie: '' }),
      post,
    ]
  }
