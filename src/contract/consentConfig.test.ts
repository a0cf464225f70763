import { expect, test } from 'vitest'
import { asksConsent, consentConfig } from './consentConfig.ts'
import { CONSENT_TOOLS, type ConsentTool } from './consentTools.ts'
import type { KeySettings } from './settings.ts'

const FIRST = CONSENT_TOOLS[0] as ConsentTool

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
  expect('consentTools' in consentConfig(settings)).toBe(expected)
})

test.each<[KeySettings, string[]]>([
  [{ consent: 'required' }, []],
  [{ gpc: true }, []],
  [{ consentSources: ['consentMode'] }, []],
  [{ consentSources: ['tcf', FIRST.name] }, ['tcf', FIRST.name]],
  [{ consentSources: ['auto'] }, CONSENT_TOOLS.map(({ name }) => name)],
  [{ consentSources: [FIRST.name, 'auto'] }, CONSENT_TOOLS.map(({ name }) => name)],
  [{ consentSources: ['gone'] }, []],
])('%j: only the rows that the key needs', (settings, names) => {
  expect(consentConfig(settings).consentTools?.map(({ name }) => name)).toEqual(names)
})

test('only what the script needs of a row, with the category', () => {
  for (const tool of CONSENT_TOOLS) {
    const [served] =
      consentConfig({ consentSources: [tool.name], consentCategory: '$&' }).consentTools ?? []
    const { title, page, scripts, category, categories, methods, ...rest } = tool
    expect(served).toEqual(
      JSON.parse(
        JSON.stringify(rest)
          .replaceAll('{category}', () => '$&')
          .replaceAll('{method}', ''),
      ),
    )
  }
})

test.each(
  CONSENT_TOOLS.flatMap(({ name, methods = {} }) =>
    Object.entries(methods).map(([category, method]) => [name, category, method] as const),
  ),
)('%s, category %s: %s', (name, consentCategory, method) => {
  const [served] = consentConfig({ consentSources: [name], consentCategory }).consentTools ?? []
  expect(served?.rules[0]).toEqual(['granted', [[method]]])
})

test('the types of Consent Mode, only for a key that follows it', () => {
  const consentTypes = ['ad_storage']
  expect(consentConfig({ consentSources: ['consentMode'] }).consentTypes).toEqual([
    'analytics_storage',
  ])
  expect(consentConfig({ consentSources: ['consentMode'], consentTypes }).consentTypes).toBe(
    consentTypes,
  )
  for (const settings of [{}, { consent: 'required' } as const, { consentSources: ['tcf'] }])
    expect(consentConfig({ ...settings, consentTypes })).toHaveProperty('consentTypes', undefined)
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

test.each<[KeySettings, KeySettings['consent']]>([
  [{ consentSources: ['tcf'] }, 'required'],
  [{ consentSources: ['tcf'], consent: 'granted' }, 'granted'],
  [{ consentSources: ['tcf'], consent: 'cookieless' }, 'cookieless'],
  [{ consentSources: [] }, undefined],
  [{ dnt: true }, undefined],
])('before the sources of %j have answered: %s', (settings, consent) => {
  expect(consentConfig(settings).consent).toBe(consent)
})
