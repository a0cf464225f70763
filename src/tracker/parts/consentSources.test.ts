import { beforeAll, expect, test } from 'vitest'
import { consentConfig } from '../../contract/consentConfig.ts'
import type { KeySettings } from '../../contract/settings.ts'
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

test.each([
  [
    'a page that denies',
    [
      ['update', 'granted'],
      ['update', 'denied'],
    ],
    ['denied'],
  ],
  [
    'a page that grants',
    [
      ['default', 'denied'],
      ['update', 'granted'],
    ],
    ['granted'],
  ],
])('what was said before the script is one answer: %s', async (_, commands, expected) => {
  const { states, settle, track } = open(
    {},
    {
      before(page) {
        page.dataLayer = commands.map(([action, state]) => [
          'consent',
          action,
          { analytics_storage: state },
        ])
      },
    },
  )
  await settle()
  expect([...new Set([...states, track.consentState])]).toEqual(expected)
})

test('a denial before the script has loaded: nothing is sent, and nothing stays', async () => {
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

test.each<readonly [name: string, value: unknown, KeySettings, state: string | undefined]>([
  ['globalPrivacyControl', true, {}, 'denied'],
  ['globalPrivacyControl', true, { gpc: false }, undefined],
  ['globalPrivacyControl', true, { gpc: false, dnt: true }, undefined],
  ['globalPrivacyControl', false, {}, undefined],
  ['globalPrivacyControl', true, { consent: 'granted', consentSources: [], gpc: true }, 'denied'],
  ['doNotTrack', '1', {}, undefined],
  ['doNotTrack', '1', { dnt: true }, 'denied'],
  ['doNotTrack', '0', { dnt: true }, undefined],
  ['doNotTrack', 'unspecified', { dnt: true }, undefined],
  ['doNotTrack', null, { dnt: true }, undefined],
])('navigator.%s is %j, %j: %s', (name, value, settings, expected) => {
  const { track } = open(settings, {
    before: (page) => Object.defineProperty(page.navigator, name, { value }),
  })
  expect(track.consentState).toBe(expected)
})

test('a signal that can not be read is none, and is read again with each answer', async () => {
  let signal = (): boolean => {
    throw new Error('of the page')
  }
  const { track, settle, sent, mode } = open(
    { consent: 'granted', consentSources: ['consentMode'] },
    {
      before: (page) =>
        Object.defineProperty(page.navigator, 'globalPrivacyControl', { get: () => signal() }),
    },
  )
  await track.search({ search_term: 'mug' })
  await settle()
  expect([track.consentState, sent.length]).toEqual(['granted', 1])
  signal = () => true
  mode('granted')
  expect(track.consentState).toBe('denied')
})

test('two keys that ask one source for different things: the strictest counts', async () => {
  const { page, run, settle, states } = open({ consentSources: ['consentMode'] })
  const second: KeySettings = {
    consent: 'required',
    consentSources: ['consentMode'],
    consentTypes: ['ad_storage'],
  }
  run(script, { ...second, ...consentConfig(second), key: 'SECONDKY' } as never)
  const layer = page.dataLayer as unknown as unknown[]
  layer.push(['consent', 'update', { analytics_storage: 'denied', ad_storage: 'granted' }])
  await settle()
  expect(states).toEqual(['denied'])
})

test('an excluded path is no setting of consent: Global Privacy Control does not count', () => {
  const settings = { exclude: ['/account'] }
  const { track } = createBrowser().open(
    script,
    { ...settings, ...consentConfig(settings) } as never,
    {
      before: (page) =>
        Object.defineProperty(page.navigator, 'globalPrivacyControl', { value: true }),
    },
  )
  expect(track.consentState).toBe('granted')
})

test('a click in an open shadow root, on its host, and where the page stops the click', () => {
  const { track, page } = open()
  const { body } = page.document
  body.innerHTML = '<div></div><my-button data-track-consent="denied"></my-button>'
  const [inside, host] = [...body.children] as [typeof body, typeof body]
  inside.attachShadow({ mode: 'open' }).innerHTML = '<button data-track-consent="granted">'
  host.attachShadow({ mode: 'open' }).innerHTML = '<button></button>'
  body.addEventListener('click', (event) => event.stopImmediatePropagation(), { capture: true })
  inside.shadowRoot?.querySelector('button')?.click()
  expect(track.consentState).toBe('granted')
  host.shadowRoot?.querySelector('button')?.click()
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
