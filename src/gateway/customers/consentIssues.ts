import { CONSENT_TOOLS } from '../../contract/consentTools.ts'
import type { Issue } from '../../contract/index.ts'
import type { KeySettings } from '../../contract/settings.ts'
import { suggest } from '../lib/suggest.ts'

const NAMES = ['consentMode', 'tcf', 'auto', ...CONSENT_TOOLS.map(({ name }) => name)]

/** A code of ISO 3166-2, or of its first part, ISO 3166-1. */
const REGION = /^[A-Z]{2}(-[A-Z0-9]{1,3})?$/

/** The settings of consent that would never let the visitor's answer count. */
export function findConsentIssues(settings: KeySettings): Issue[] {
  const {
    consentSources = [],
    consentTypes,
    consentRegion,
    tcfPurposes,
    consentCategory,
  } = settings
  const issues: Issue[] = []
  const report = (path: string, message: string) => issues.push({ path, message })

  for (const [i, name] of consentSources.entries())
    if (!NAMES.includes(name))
      report(
        `consentSources.${i}`,
        `There is no such source of consent. Known are ${NAMES.join(', ')}.${suggest(name, NAMES)}`,
      )
  for (const [i, type] of (consentTypes ?? []).entries())
    if (!/^\w{1,64}$/.test(type))
      report(`consentTypes.${i}`, 'Expected the name of a type of consent, such as ad_storage')
  for (const [path, list] of Object.entries({ consentTypes, tcfPurposes }))
    if (list?.length === 0) report(path, 'Expected at least one')
  if (consentRegion !== undefined && !REGION.test(consentRegion))
    report('consentRegion', 'Expected a code of ISO 3166-2 in capital letters: DE, US-CA')
  for (const { name, title, category, categories } of CONSENT_TOOLS) {
    const known = categories && [category, ...categories]
    if (consentCategory === undefined || !consentSources.includes(name)) continue
    if (known && !known.includes(consentCategory))
      report(
        'consentCategory',
        `${title} has no such category. Known are ${known.join(', ')}.${suggest(consentCategory, known)}`,
      )
  }
  return issues
}
