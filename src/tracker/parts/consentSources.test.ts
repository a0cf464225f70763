import { beforeAll, expect, test } from 'vitest'
import type { KeySettings } from '../../contract/settings.ts'
import { consentConfig } from '../../gateway/script/consentConfig.ts'
import { bundle, createBrowser } from '../../test/tab.ts'

let script: string
beforeAll(async () => {
  script = await bundle(['consent', 'consentSources', 'pageViews', 'attributes', 'dataLayer'])
})

type Page = { [name: string]: unknown }

/** A page whose shop has Consent Mode and TCF. */
function open(settings: KeySettings = {}, { before = (_page: Page): void => {} } = {}) {
  const config: KeySettings = {
    consent: 'required',
    consentSources: ['consentMode', 'tcf'],
    ...settings,
  }
  let listener = (_data: object, _ok: boolean): void => {}
  const browser = createBrowser()
  const tab = browser.open(script, { ...config, ...consentConfig(config) } as never, {
    before(page) {
      page.__tcfapi = (_command: string, _version: number, given: typeof listener) => {
        listener = given
      }
      before(page)
    },
  })
  const mode = (state: string) =>
    (tab.page.dataLayer as unknown as unknown[]).push([
      'consent',
      'update',
      { analytics_storage: state },
    ])
  const tcf = (allowed: boolean) => {
    const consents = { 1: allowed, 7: allowed, 8: allowed }
    listener({ eventStatus: 'useractioncomplete', purpose: { consents } }, true)
  }
  return { ...tab, browser, mode, tcf }
}

test('of two sources that disagree, the one that denies wins', async () => {
  const { track, mode, tcf, sent, settle, browser } = open()
  await track.search({ search_term: 'mug' })
  expect(track.consentState).toBeUndefined()
  mode('granted')
  expect(track.consentState).toBe('granted')
  await settle()
  expect(sent).toHaveLength(1)
  tcf(false)
  expect(track.consentState).toBe('denied')
  expect(browser.local.getItem('track.did')).toBeNull()
  tcf(true)
  expect(track.consentState).toBe('granted')
  mode('denied')
  expect(track.consentState).toBe('denied')
})

test('a denial that was said before the script: nothing is sent, and nothing stays', async () => {
  const { sent, settle, browser, track } = open(
    { consent: 'granted' },
    {
      before(page) {
        page.dataLayer = [['consent', 'update', { analytics_storage: 'denied' }]]
      },
    },
  )
  await settle()
  expect(track.consentState).toBe('denied')
  expect(sent).toEqual([])
  expect(Object.keys(browser.local)).toEqual([])
})

test("a yes on the shop's own button overrules Global Privacy Control, and no other source", async () => {
  const { track, tcf, page } = open(
    {},
    {
      before(page) {
        Object.defineProperty(page.navigator, 'globalPrivacyControl', { value: true })
      },
    },
  )
  expect(track.consentState).toBe('denied')
  page.document.body.innerHTML = '<button data-track-consent="granted">'
  page.document.querySelector('button')?.click()
  expect(track.consentState).toBe('granted')
  tcf(false)
  expect(track.consentState).toBe('denied')
})

test('a page that returns from the back/forward cache reads its sources again', async () => {
  let allowed = true
  const settings = { consentSources: ['auto'] }
  const { track, page } = open(settings, {
    before(page) {
      page.getCkyConsent = () => ({
        categories: { analytics: allowed },
        isUserActionCompleted: true,
      })
    },
  })
  expect(track.consentState).toBe('granted')
  allowed = false
  const shown = new page.Event('pageshow')
  page.dispatchEvent(Object.assign(shown, { persisted: true }))
  expect(track.consentState).toBe('denied')
})
