import { beforeAll, expect, test } from 'vitest'
import { bundle, createBrowser } from '../../test/tab.ts'

let script: string
beforeAll(async () => {
  script = await bundle(['consent', 'consentSources', 'dataLayer'])
})

const config = { consent: 'required', consentTypes: ['analytics_storage'] } as const

/** Opens a page whose Consent Mode says this. */
function open(browser: ReturnType<typeof createBrowser>, state: 'granted' | 'denied') {
  const tab = browser.open(script, config as never)
  const say = (next: string) =>
    (tab.page.dataLayer as unknown as object[]).push([
      'consent',
      'update',
      { analytics_storage: next },
    ])
  say(state)
  return { ...tab, say }
}

test('other tabs learn of a grant once the device id is stored, so that they make no other', async () => {
  const browser = createBrowser()
  browser.open(script, config as never).track.consent('granted')
  const writes = browser.accesses.filter((access) => /setItem/.test(access))
  expect(writes).toEqual(['local.setItem track.did', 'local.setItem track.c'])
})

test('what a source says in one tab holds in the others, however often their own is read again', async () => {
  const browser = createBrowser()
  const [one, two] = [open(browser, 'granted'), open(browser, 'granted')]
  expect([one.track.consentState, two.track.consentState]).toEqual(['granted', 'granted'])
  one.say('denied')
  await one.settle()
  expect(two.track.consentState).toBe('denied')
  two.say('granted')
  two.page.dispatchEvent(new two.page.Event('click'))
  await two.settle()
  expect(two.track.consentState).toBe('denied')
  expect(Object.keys(browser.local)).toEqual([])

  one.say('granted')
  await one.settle()
  expect([one.track.consentState, two.track.consentState]).toEqual(['granted', 'granted'])
  expect(browser.local.getItem('track.c')).toBe(null)
})

test('a choice that was made before a source withdraws consent is still there after it', async () => {
  const browser = createBrowser()
  const [one, two] = [open(browser, 'granted'), open(browser, 'granted')]
  one.track.consent('granted')
  one.say('denied')
  await one.settle()
  expect([one.track.consentState, two.track.consentState]).toEqual(['denied', 'denied'])
  expect(browser.local.getItem('track.c')).toBe('granted')
})

test('a yes on the shop overrules no source, also not one in another tab', async () => {
  const browser = createBrowser()
  const [one, two] = [open(browser, 'granted'), open(browser, 'granted')]
  one.say('denied')
  await one.settle()
  two.track.consent('granted')
  expect([one.track.consentState, two.track.consentState]).toEqual(['denied', 'denied'])
})
