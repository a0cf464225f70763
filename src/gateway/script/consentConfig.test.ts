import { expect, test } from 'vitest'
import { CONSENT_TOOLS } from '../../contract/consentTools.ts'
import type { KeySettings } from '../../contract/settings.ts'
import { asksConsent, consentConfig } from './consentConfig.ts'

test.each<[KeySettings, boolean]>([
  [{}, false],
  [{ consent: 'granted', consentSources: [], gpc: false, dnt: false }, false],
  [{ tcfVendor: 1, consentCategory: 'x' }, false],
  [{ consent: 'required' }, true],
  [{ consent: 'cookieless' }, true],
  [{ consentSources: ['tcf'] }, true],
  [{ gpc: true }, true],
  [{ dnt: true }, true],
])('%j: asks for consent: %s', (settings, expected) => {
  expect(asksConsent(settings)).toBe(expected)
  expect(Object.keys(consentConfig(settings))).toHaveLength(expected ? 2 : 0)
})

test.each<[KeySettings, string[]]>([
  [{ consent: 'required' }, ['signal']],
  [{ consent: 'required', gpc: false }, []],
  [{ consent: 'required', gpc: false, dnt: true }, ['signal']],
  [{ consentSources: ['consentMode'] }, ['signal']],
  [{ consentSources: ['tcf', 'shopify'], gpc: false }, ['tcf', 'shopify']],
  [{ consentSources: ['auto'] }, ['signal', ...CONSENT_TOOLS.map(({ name }) => name)]],
  [{ consentSources: ['cookiebot', 'auto'] }, ['signal', ...CONSENT_TOOLS.map(({ name }) => name)]],
  [{ consentSources: ['gone'] }, ['signal']],
])('%j: only the rows that the key needs', (settings, names) => {
  expect(consentConfig(settings).consentTools?.map(({ name }) => name)).toEqual(names)
})

test('only what the script needs of a row, with the category', () => {
  const [, tool] =
    consentConfig({ consentSources: ['shopify'], consentCategory: 'marketing' }).consentTools ?? []
  expect(tool).toEqual({
    name: 'shopify',
    events: 'visitorConsentCollected',
    state: ['Shopify', 'customerPrivacy'],
    load: ['Shopify', ['loadFeatures', [{ name: 'consent-tracking-api', version: '0.1' }]]],
    rules: [
      ['granted', [['marketingAllowed']]],
      ['denied', [['currentVisitorConsent'], 'marketing', ['startsWith', 'no']]],
    ],
  })
  const [, groups] =
    consentConfig({ consentSources: ['onetrust'], consentCategory: '$&{category}' }).consentTools ??
    []
  expect(groups?.rules[0]).toEqual([
    'granted',
    ['OnetrustActiveGroups', ['includes', ',$&{category},']],
  ])
})

test('no row has a placeholder left, and every row can deny', () => {
  const { consentTools = [] } = consentConfig({ consentSources: ['auto', 'tcf'] })
  expect(JSON.stringify(consentTools)).not.toMatch(/\{\w+\}/)
  for (const { rules } of consentTools) expect(rules.map(([state]) => state)).toContain('denied')
})

test('no two sources have the same name', () => {
  const names = ['consentMode', 'tcf', 'auto', ...CONSENT_TOOLS.map(({ name }) => name)]
  expect(new Set(names).size).toBe(names.length)
})
