import { consentOf } from './consentOf.ts'
import { CONSENT_TOOLS, type ConsentReader, type ConsentTool } from './consentTools.ts'
import type { KeySettings } from './settings.ts'

/** What the script gets instead of the settings that name its consent sources. */
export type ConsentConfig = {
  readonly consent?: KeySettings['consent']
  readonly consentTools?: readonly ConsentReader[]
  /** Absent if the key does not follow Google Consent Mode. */
  readonly consentTypes: readonly string[] | undefined
}

const CONSENT_TYPES = ['analytics_storage']
const TCF_PURPOSES = [1, 7, 8]

/** Whether a key's script asks for the visitor's consent. */
export const asksConsent = ({ consent, consentSources, gpc, dnt }: KeySettings): boolean =>
  (consent ?? 'granted') !== 'granted' || !!consentSources?.length || gpc === true || dnt === true

/** The sources of a key's consent, as the script reads them. */
export function consentConfig(settings: KeySettings): ConsentConfig {
  if (!asksConsent(settings)) return { consentTypes: undefined }
  const { consentSources = [], consentTypes = CONSENT_TYPES, consentCategory } = settings
  const wants = (source: string) => consentSources.includes(source)
  return {
    ...(consentSources.length > 0 && { consent: consentOf(settings) }),
    consentTypes: wants('consentMode') ? consentTypes : undefined,
    consentTools: [
      ...(wants('tcf') ? [tcf(settings)] : []),
      ...CONSENT_TOOLS.filter(({ name }) => wants(name) || wants('auto')).map((tool) =>
        readerOf(tool, consentCategory),
      ),
    ],
  }
}

/**
 * IAB's Transparency and Consent Framework 2.2 and 2.3: only consent counts, no legitimate interest. While the banner is
 * shown again (`cmpuishown`), what the visitor allowed before still counts, as long as the tool reports it
 * (https://github.com/InteractiveAdvertisingBureau/GDPR-Transparency-and-Consent-Framework/tree/master/TCFv2).
 */
const tcf = ({ tcfPurposes = TCF_PURPOSES, tcfVendor }: KeySettings): ConsentReader => ({
  name: 'tcf',
  events: '',
  load: [['__tcfapi', 'addEventListener', 2]],
  rules: [
    ['granted', ['gdprApplies', ['toString'], ['startsWith', 'false']]],
    [
      'granted',
      ...tcfPurposes.map((purpose) => ['purpose', 'consents', `${purpose}`]),
      ...(tcfVendor ? [['vendor', 'consents', `${tcfVendor}`]] : []),
    ],
    ['denied', ['eventStatus', ['startsWith', 'tcloaded']]],
    ['denied', ['eventStatus', ['startsWith', 'useractioncomplete']]],
  ],
})

/** A row of the table for a category, without what only people read. */
function readerOf(tool: ConsentTool, category = tool.category): ConsentReader {
  const {
    title: _,
    page: __,
    scripts: ___,
    category: ____,
    categories: _____,
    methods,
    ...reader
  } = tool
  return JSON.parse(JSON.stringify(reader), (_key, value) =>
    typeof value === 'string'
      ? value
          .replace('{category}', () => category)
          .replace('{method}', () => methods?.[category] ?? '')
      : value,
  )
}
