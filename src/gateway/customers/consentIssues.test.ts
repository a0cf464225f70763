import { expect, test } from 'vitest'
import { CONSENT_TOOLS, type ConsentTool } from '../../contract/consentTools.ts'
import { checkKeySettings, checkStoredSettings } from './keySettings.ts'

/** A tool with the same categories for everybody, and one whose customers make their own. */
const FIXED = CONSENT_TOOLS.find(({ categories }) => categories) as ConsentTool
const FREE = CONSENT_TOOLS.find(({ categories }) => !categories) as ConsentTool

test.each([
  [{ consentSources: ['consentMode', 'tcf', 'auto', FIXED.name, FREE.name] }],
  [{ consentSources: [FIXED.name], consentCategory: FIXED.categories?.[0] }],
  [{ consentSources: [FREE.name], consentCategory: 'my own' }],
  [{ consentTypes: ['ad_storage', 'ad_user_data'], consentRegion: 'US-CA' }],
  [{ consentRegion: 'DE', tcfPurposes: [1], tcfVendor: 1 }],
])('valid: %j', (settings) => {
  expect(checkKeySettings(settings)).toEqual({ ok: true, settings })
})

test.each<readonly [object, path: string, message: RegExp]>([
  [
    { consentSources: ['tcf', `${FIXED.name}x`] },
    'consentSources.1',
    RegExp(
      `^There is no such source of consent\\. Known are consentMode, tcf, auto, .*\\. Did you mean ${FIXED.name}\\?$`,
    ),
  ],
  [{ consentSources: ['ConsentMode'] }, 'consentSources.0', / Did you mean consentMode\?$/],
  [{ consentSources: ['something'] }, 'consentSources.0', /\w\.$/],
  [{ consentSources: ['constructor'] }, 'consentSources.0', /^There is no such source/],
  [{ consentTypes: [] }, 'consentTypes', /^Expected at least one$/],
  [{ consentTypes: ['ad_storage,ad_user_data'] }, 'consentTypes.0', /such as ad_storage$/],
  [{ tcfPurposes: [] }, 'tcfPurposes', /^Expected at least one$/],
  [{ consentRegion: 'de' }, 'consentRegion', /in capital letters/],
  [{ consentRegion: 'Germany' }, 'consentRegion', /^Expected a code of ISO 3166-2/],
  [
    { consentSources: [FIXED.name], consentCategory: FIXED.category.slice(0, -1) },
    'consentCategory',
    RegExp(
      `^${FIXED.title} has no such category\\. Known are .* Did you mean ${FIXED.category}\\?$`,
    ),
  ],
])('invalid: %j', (settings, path, message) => {
  expect(checkKeySettings(settings)).toEqual({
    ok: false,
    issues: [{ path, message: expect.stringMatching(message) }],
  })
})

test('a stored source that this version does not know stops no gateway', () => {
  expect(checkStoredSettings({ consentSources: ['gone'] }).ok).toBe(true)
})
