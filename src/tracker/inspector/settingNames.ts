import type { KeySettings } from '../../contract/settings.ts'

/**
 * The names of all settings of a key. The compiler compares this list with the contract: the schemas themselves would
 * be a third of the inspector.
 */
const NAMES: { readonly [S in keyof Required<KeySettings>]: 0 } = {
  pageViews: 0,
  pageViewEvent: 0,
  pageViewQuery: 0,
  pageViewHash: 0,
  attributes: 0,
  dataLayer: 0,
  dataLayerName: 0,
  dataLayerPrefix: 0,
  ga4: 0,
  schemaOrg: 0,
  duplicateWindowMs: 0,
  consent: 0,
  consentSources: 0,
  consentTypes: 0,
  consentRegion: 0,
  tcfPurposes: 0,
  tcfVendor: 0,
  consentCategory: 0,
  consentReplay: 0,
  consentEvents: 0,
  gpc: 0,
  dnt: 0,
  exclude: 0,
  adoptDid: 0,
  cookieDomain: 0,
  firstParty: 0,
  global: 0,
  eventPrefix: 0,
  events: 0,
  source: 0,
  remoteAddr: 0,
  mask: 0,
  maxAgeDays: 0,
  batch: 0,
  anyOk: 0,
}
export const SETTING_NAMES: readonly string[] = Object.keys(NAMES)
