import type { Page } from '@playwright/test'
import { expect, search, test } from './fixtures.ts'

// A visitor keeps the device id that another script gave it.

const UUID = '11111111-2222-4333-8444-555555555555'
const UUID4 = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/

/** What the other script has left in the browser. */
const leave = (code: string) => `<script>${code}</script>`
const cookieOf = (value: string) => leave(`document.cookie = ${JSON.stringify(`__sm__c=${value}`)}`)
const didOf = (page: Page) => page.evaluate(() => track.did)

for (const [name, id, value] of [
  ['a UUID', UUID, `{"did":"${UUID}","k":"ABCDEFGH"}`],
  ['a UUID, percent-encoded', UUID, encodeURIComponent(`{"did":"${UUID}","k":"ABCDEFGH"}`)],
  ['no UUID', 'old_visitor.42', '{"k":"ABCDEFGH","did":"old_visitor.42"}'],
] as const)
  test(`the id in __sm__c is taken over and kept: ${name} @both`, async ({
    page,
    context,
    shop,
    expectStored,
  }) => {
    const head = cookieOf(value) + shop.tag()
    await page.goto(shop.page('/first', { head }))
    await search(page, 'first')
    await context.clearCookies()
    await page.goto(shop.page('/second'))
    await search(page, 'second')
    const rows = await expectStored(['first', 'second'])
    expect(rows.map(({ did }) => did)).toEqual([id, id])
    expect(rows[1]?.payload.did).toBe(id)
    expect(await context.cookies()).toEqual([])
  })

test('a known visitor keeps its id, and a reset makes a new one', async ({ page, shop }) => {
  await page.goto(shop.page('/first'))
  const known = await didOf(page)
  const head = cookieOf(`{"did":"${UUID}"}`) + shop.tag()
  await page.goto(shop.page('/second', { head }))
  expect(await didOf(page)).toBe(known)
  await page.evaluate(() => track.reset())
  const next = await didOf(page)
  expect(next).toMatch(UUID4)
  expect([known, UUID]).not.toContain(next)
  await page.goto(shop.page('/third'))
  expect(await didOf(page)).toBe(next)
})

test('junk in the cookie is not taken over', async ({ page, shop }) => {
  for (const value of ['undefined', '{"did":"undefined"}', '{"did":null}', '%', '{']) {
    const head = leave('localStorage.clear()') + cookieOf(value) + shop.tag()
    await page.goto(shop.page('/a', { head }))
    expect(await didOf(page)).toMatch(UUID4)
  }
})

test.describe('another place', () => {
  test.use({ config: { adoptDid: { storage: 'visitor', path: 'ids.device' } } })

  test('the id is read from localStorage', async ({ page, shop }) => {
    const other = leave(
      `localStorage.visitor = '{"v":[1],"ids":{"user":7,"device":"device-0001"}}'`,
    )
    await page.goto(shop.page('/a', { head: cookieOf(`{"did":"${UUID}"}`) + other + shop.tag() }))
    expect(await didOf(page)).toBe('device-0001')
  })
})

test.describe('off', () => {
  test.use({ config: { adoptDid: false } })

  test('no id is taken over', async ({ page, shop }) => {
    await page.goto(shop.page('/a', { head: cookieOf(`{"did":"${UUID}"}`) + shop.tag() }))
    expect(await didOf(page)).not.toBe(UUID)
  })
})

test('the tag can switch it off', async ({ page, shop }) => {
  const head = cookieOf(`{"did":"${UUID}"}`)
  await page.goto(shop.page('/a', { head: head + shop.tag('data-adopt-did="false"') }))
  expect(await didOf(page)).not.toBe(UUID)
})
