import type { Page } from '@playwright/test'
import { CONSENT_TOOLS, type ConsentTool, type Rule } from '../src/contract/consentTools.ts'
import { LISTEN, noticesOf, storedIn } from './consentPage.ts'
import { expect, expectNothingKept, keptIn, search, stopClock, test } from './fixtures.ts'

// What a shop already has that knows the visitor's consent. src/tracker/lib/consentSources.test.ts has the sequences of
// each source.

const stateOf = (page: Page) => page.evaluate(() => track.consentState)

test.describe('Consent Mode', () => {
  test.use({ config: { consent: 'required', consentSources: ['consentMode'] } })

  const GTAG = '<script>window.dataLayer=[];function gtag(){dataLayer.push(arguments)}</script>'
  const DENIED = "gtag('consent','default',{analytics_storage:'denied'})"
  const GRANTED = "gtag('consent','update',{analytics_storage:'granted'})"

  /** Where the commands stand, and the state before the last one. */
  const ORDERS = {
    'both before the script': [`${DENIED};${GRANTED}`, '', ''],
    'the default before, the update after': [DENIED, '', GRANTED],
    'both after': ['', DENIED, GRANTED],
  } as const

  for (const [name, [before, after, last]] of Object.entries(ORDERS))
    test(`${name}: granted by the update, and events are sent from then on`, async ({
      page,
      shop,
      wire,
      expectStored,
    }) => {
      const head = `${GTAG}<script>${before}</script>${shop.tag()}`
      await page.goto(shop.page('/a', { head }))
      await page.evaluate(after)
      if (last) {
        expect(await stateOf(page)).toBeUndefined()
        await search(page, 'held')
        expect(await storedIn(page)).toEqual({})
        expect(wire.events).toEqual([])
        await page.evaluate(last)
      }
      expect(await stateOf(page)).toBe('granted')
      await search(page, 'sent')
      await expectStored([...(last ? ['held'] : []), 'sent'])
      await expectNothingKept(page)
      // The tool remembers the choice, the script does not.
      expect(Object.keys(await storedIn(page))).toEqual(['track.did'])
    })

  test('an update that denies withdraws consent in every tab, and nothing of it stays @both', async ({
    context,
    page,
    shop,
    wire,
    expectStored,
  }) => {
    const head = `${GTAG}<script>${DENIED};${GRANTED}</script>${shop.tag()}`
    const other = await context.newPage()
    for (const tab of [page, other]) await tab.goto(shop.page('/a', { head }))
    await search(page, 'one')
    await expectStored(['one'])
    await expectNothingKept(page)
    await wire.down()
    await search(other, 'waiting')
    await expect.poll(() => keptIn(page)).toBe(1)
    await page.evaluate("gtag('consent','update',{analytics_storage:'denied'})")
    expect(await stateOf(page)).toBe('denied')
    await expect.poll(() => stateOf(other)).toBe('denied')
    expect(await storedIn(page)).toEqual({})
    const requests = wire.events.length
    await wire.up()
    for (const tab of [page, other]) await search(tab, 'refused')
    await other.evaluate(() => track.flush())
    expect(wire.events).toHaveLength(requests)
  })

  test('a default that waits for an update', async ({ page, shop, expectStored }) => {
    const clock = await stopClock(page)
    const waiting = `gtag('consent','default',{analytics_storage:'granted',wait_for_update:500})`
    await page.goto(shop.page('/a', { head: `${GTAG}<script>${waiting}</script>${shop.tag()}` }))
    await search(page, 'held')
    await clock.pass(400)
    expect(await stateOf(page)).toBeUndefined()
    await clock.pass(100)
    expect(await stateOf(page)).toBe('granted')
    await expectStored(['held'])
  })
})

test.describe('TCF', () => {
  test.use({ config: { consent: 'required', consentSources: ['tcf'] } })

  /** IAB's stub: it keeps the calls until the tool arrives. */
  const TCF_STUB = `<script>var queue=[];window.__tcfapi=function(){queue.push(arguments)}</script>`
  /** The tool arrives, and answers the calls that the stub has kept. */
  const arrive = (data: object) => `
    window.listeners = []
    window.__tcfapi = (command, version, call) => {
      if (command !== 'addEventListener') return call(null, false)
      listeners.push(call)
      call({ listenerId: listeners.length, ...${JSON.stringify(data)} }, true)
    }
    for (const call of queue) __tcfapi(...call)`
  const say = (data: object) => `for (const call of listeners) call(${JSON.stringify(data)}, true)`
  const consents = (allowed: boolean) => ({
    gdprApplies: true,
    eventStatus: 'useractioncomplete',
    purpose: { consents: Object.fromEntries([1, 7, 8].map((purpose) => [purpose, allowed])) },
  })

  test('a stub whose tool arrives after seconds, then a yes, then a withdrawal', async ({
    page,
    shop,
    wire,
    expectStored,
  }) => {
    wire.delayMs = 0
    const clock = await stopClock(page)
    await page.goto(shop.page('/a', { head: TCF_STUB + shop.tag(), body: LISTEN }))
    await search(page, 'held')
    await clock.pass(10_000)
    await page.evaluate(arrive({ gdprApplies: true, eventStatus: 'cmpuishown' }))
    await clock.pass(10_000)
    expect(await stateOf(page)).toBeUndefined()
    expect(await storedIn(page)).toEqual({})
    expect(wire.events).toEqual([])
    await page.evaluate(say(consents(true)))
    await expectStored(['held'])
    await expectNothingKept(page)
    await page.evaluate(say(consents(false)))
    await search(page, 'refused')
    expect(await storedIn(page)).toEqual({})
    expect((await noticesOf(page)).slice(-3)).toEqual([
      'delivered',
      'consent denied',
      'dropped no_consent',
    ])
  })

  test('a visitor to whom the GDPR does not apply', async ({ page, shop, expectStored }) => {
    await page.goto(shop.page('/a', { head: TCF_STUB + shop.tag() }))
    await search(page, 'held')
    await page.evaluate(arrive({ gdprApplies: false, eventStatus: 'tcloaded' }))
    await expectStored(['held'])
  })
})

/** A tool whose state is an object of its own, with a property for its grant and one that says that it was answered. */
const tool = CONSENT_TOOLS.find(({ state }) => state?.length === 1) as ConsentTool

/** Code that sets the tool's state, and fires its last event. */
function setTool(isGranted: boolean, isAnswered = true): string {
  const state: { [name: string]: unknown } = {}
  for (const [index, value] of [isGranted, isAnswered].entries()) {
    const [, path] = tool.rules[index] as Rule
    const names = (path as string[]).map((name) => name.replace('{category}', tool.category))
    const last = names.pop() as string
    let on = state
    for (const name of names) {
      on[name] = {}
      on = on[name] as typeof state
    }
    on[last] = value
  }
  const event = tool.events.split(' ').at(-1)
  return `${tool.state}=${JSON.stringify(state)};dispatchEvent(new Event('${event}'))`
}

test.describe('a consent tool', () => {
  test.use({ config: { consent: 'required', consentSources: ['auto'] } })

  test('found by itself, it grants by its event, and revokes', async ({
    page,
    shop,
    wire,
    expectStored,
  }) => {
    await page.goto(shop.page('/a'))
    await search(page, 'held')
    await page.evaluate(setTool(false, false))
    expect(await stateOf(page)).toBeUndefined()
    expect(await storedIn(page)).toEqual({})
    await page.evaluate(setTool(true))
    await expectStored(['held'])
    await expectNothingKept(page)
    const requests = wire.events.length
    await page.evaluate(setTool(false))
    await search(page, 'refused')
    expect(await stateOf(page)).toBe('denied')
    expect(await storedIn(page)).toEqual({})
    expect(wire.events).toHaveLength(requests)
  })
})

test.describe('two sources', () => {
  test.use({ config: { consent: 'required', consentSources: ['consentMode', tool.name] } })

  test('any denial wins, whichever comes first', async ({ page, shop, wire, expectStored }) => {
    const head = `<script>
      window.dataLayer=[];function gtag(){dataLayer.push(arguments)}
      gtag('consent','update',{analytics_storage:'granted'})
      ${setTool(false)}</script>${shop.tag()}`
    await page.goto(shop.page('/a', { head }))
    await search(page, 'refused')
    expect(await stateOf(page)).toBe('denied')
    expect(wire.events).toEqual([])
    await page.evaluate(setTool(true))
    await search(page, 'allowed')
    await expectStored(['allowed'])
    await page.evaluate("gtag('consent','update',{analytics_storage:'denied'})")
    expect(await stateOf(page)).toBe('denied')
  })
})
