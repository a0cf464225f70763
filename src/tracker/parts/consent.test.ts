import { beforeAll, expect, test } from 'vitest'
import { bundle, createBrowser } from '../../test/tab.ts'

let script: string
let plain: string
beforeAll(async () => {
  script = await bundle(['consent', 'pageViews', 'attributes', 'ga4', 'dataLayer'])
  plain = await bundle(['pageViews', 'attributes', 'dataLayer'])
})

const mug = { search_term: 'mug' }

test('required: before a grant nothing is stored, sent or read, except the remembered choice', async () => {
  const browser = createBrowser()
  const { track, sent, settle, page } = browser.open(script, { consent: 'required' })
  expect(await track.search(mug)).toMatchObject({ ok: true })
  page.dispatchEvent(new page.Event('pagehide'))
  await settle()
  expect(track.did).toBe('')
  expect(track.consentState).toBeUndefined()
  expect(sent).toEqual([])
  expect(new Set(browser.accesses)).toEqual(new Set(['local.getItem track.c']))
})

test('a grant sends what was held, with its own id, moment and address, and a new device id', async () => {
  const browser = createBrowser()
  const { track, sent, settle, page, notices, payloads, states } = browser.open(script, {
    consent: 'required',
  })
  const first = await track.search(mug)
  page.history.replaceState({}, '', '/p/2')
  const second = await track.viewProduct({ product_id: 7 })
  await settle()
  expect(notices).toMatchObject([
    { kind: 'accepted' },
    { kind: 'held', reason: 'no_consent', id: first.ok && first.id },
    { kind: 'accepted' },
    { kind: 'held', reason: 'no_consent' },
  ])
  track.consent('granted')
  await settle()
  const did = browser.local.getItem('track.did')
  expect(payloads()).toMatchObject([
    { ...mug, did, url: 'https://shop.example/p/1?utm_source=mail' },
    { product_id: '7', did, url: 'https://shop.example/p/2' },
  ])
  expect(sent[0]?.ids).toEqual([first, second].map((outcome) => outcome.ok && outcome.id))
  expect(track.did).toBe(did)
  expect(states).toEqual(['granted'])
  expect(Object.keys(browser.local).sort()).toEqual(['track.c', 'track.did'])
  expect(notices.slice(4)).toMatchObject([{ kind: 'delivered' }, { kind: 'delivered' }])
})

test('a script without the part, on a page without consent, is open', async () => {
  const browser = createBrowser()
  const { track, payloads, settle } = browser.open(plain)
  await track.search(mug)
  await settle()
  expect(payloads()).toMatchObject([{ ...mug, did: track.did }])
  expect(track.consentState).toBe('granted')
})

test('a tag that asks for consent of a script without the part is closed for good', async () => {
  const browser = createBrowser()
  const { track, sent, settle, notices } = browser.open(plain, {}, { tag: { consent: 'required' } })
  expect(await track.search(mug)).toEqual({ ok: false, error: 'no_consent' })
  track.consent('granted')
  expect(await track.search(mug)).toEqual({ ok: false, error: 'no_consent' })
  await settle()
  expect(sent).toEqual([])
  expect(browser.accesses).toEqual([])
  expect(notices).toMatchObject([{ reason: 'no_consent' }, { reason: 'no_consent' }])
})
