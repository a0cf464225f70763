import { expect, test } from 'vitest'
import { checkKeySettings, checkStoredSettings } from './keySettings.ts'

test.each([
  [{ consentSources: ['consentMode', 'tcf', 'auto', 'cookiebot', 'wpConsent'] }],
  [{ consentSources: ['shopify'], consentCategory: 'marketing' }],
  [{ consentSources: ['onetrust', 'usercentrics'], consentCategory: 'my own' }],
  [{ consentTypes: ['ad_storage', 'ad_user_data'], consentRegion: 'US-CA' }],
  [{ consentRegion: 'DE', tcfPurposes: [1], tcfVendor: 1 }],
])('valid: %j', (settings) => {
  expect(checkKeySettings(settings)).toEqual({ ok: true, settings })
})

test.each<readonly [object, path: string, message: RegExp]>([
  [
    { consentSources: ['tcf', 'cookiebott'] },
    'consentSources.1',
    /^There is no such source of consent\. Known are consentMode, tcf, auto, cookiebot, .*\. Did you mean cookiebot\?$/,
  ],
  [{ consentSources: ['ConsentMode'] }, 'consentSources.0', / Did you mean consentMode\?$/],
  [{ consentSources: ['something'] }, 'consentSources.0', /wpConsent\.$/],
  [{ consentSources: ['constructor'] }, 'consentSources.0', /^There is no such source/],
  [{ consentTypes: [] }, 'consentTypes', /^Expected at least one$/],
  [{ consentTypes: ['ad_storage,ad_user_data'] }, 'consentTypes.0', /such as ad_storage$/],
  [{ tcfPurposes: [] }, 'tcfPurposes', /^Expected at least one$/],
  [{ consentRegion: 'de' }, 'consentRegion', /in capital letters/],
  [{ consentRegion: 'Germany' }, 'consentRegion', /^Expected a code of ISO 3166-2/],
  [
    { consentSources: ['cookiebot'], consentCategory: 'statistic' },
    'consentCategory',
    /^Cookiebot has no such category\. Known are statistics, .*\. Did you mean statistics\?$/,
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
