import { readFileSync } from 'node:fs'
import type { Page } from '@playwright/test'
import type { Seen as Request } from './faultProxy.ts'
import { expect, keptIn, type Row, test } from './fixtures.ts'
import { startShop } from './shopServer.ts'

/** One case of src/tracker/fixtures/tracker.json: `setup` runs before the script, `act` when the script is ready. */
type Vector = {
  readonly id: string
  readonly kind: string
  readonly input: {
    readonly setup?: string
    readonly html?: string
    readonly act?: string
    readonly location?: string
    readonly option?: string
    readonly script?: string
    readonly headers?: Readonly<Record<string, string>>
  }
  readonly expected: {
    readonly events: readonly { readonly op: string; readonly fields?: object }[]
  }
}

const vectors: Vector[] = JSON.parse(
  readFileSync(new URL('../src/tracker/fixtures/tracker.json', import.meta.url), 'utf8'),
)

/** The cases about delivery. pageVectors.spec.ts runs those about attributes, page views and the dataLayer. */
const isOfDelivery = ({ input: { html = '', option, setup = '', act = '' } }: Vector) =>
  !option && !/data-track|CONSENT|dataLayer/.test(html + setup + act)

const DID_KEYS = ['track.did']
const QUEUE_KEYS = ['track.e.junk', 'track.e.00000000-0000-7000-8000-000000000001']
const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/

type Seen = {
  readonly page: Page
  readonly rows: readonly Row[]
  readonly sent: readonly Request[]
}

/** What a case expects of the page besides events. */
const STATEMENTS: Record<string, (seen: Seen) => unknown> = {
  'H-T-011': ({ rows }) => expect(rows[0]?.did).toBe(rows[1]?.did),
  'H-T-013': freshDid,
  'H-T-049': freshDid,
  'H-T-050': freshDid,
  'H-T-051': freshDid,
  'H-T-022': ({ rows }) => expect(Object.keys(rows[0]?.payload ?? {})).not.toContain('source'),
  'H-T-018': async ({ page }) => expect(await keptIn(page)).toBe(1),
  'H-T-036': ({ sent, rows }) => {
    const text = sent.map(({ body, query }) => body + query).join()
    expect(text).not.toMatch(/abc123|a%40example\.com|a@example\.com/)
    expect(rows[0]?.payload.url).toContain('x=1')
  },
  'H-T-037': ({ sent }) => expect(sent).toEqual([]),
  'H-T-039': async ({ page }) =>
    expect(
      await page.evaluate(() => (window as unknown as { violations: string[] }).violations),
    ).toEqual([]),
}

async function freshDid({ page, rows }: Seen): Promise<void> {
  expect(rows[0]?.did).toMatch(UUID)
  expect(await page.evaluate(() => localStorage.getItem('track.did'))).toBe(rows[0]?.did)
}

/** Cases per test: few enough to spread the tests over the workers. */
const CASES = 7

const ofDelivery = vectors.filter(isOfDelivery)
for (let from = 0; from < ofDelivery.length; from += CASES) {
  const cases = ofDelivery.slice(from, from + CASES)

  test(
    cases.map(({ id }) => id).join(', '),
    async ({ context, page, customer, wire, expectStored }) => {
      for (const { id, kind, input, expected } of cases)
        await test.step(`${id} ${kind}`, async () => {
          // Each case has its own key, shop and visitor.
          const own = customer.another()
          const shop = await startShop(wire.url, own.trackingKey)
          await context.clearCookies()
          const before = wire.events.length
          const { setup = '', html = '', act = '', location = '/a', headers = {} } = input
          const policy = Object.fromEntries(
            Object.entries(headers).map(([name, value]) => [
              name,
              value.replace('GATEWAY', wire.url),
            ]),
          )
          const nonce = 'nonce="x"'
          // In scripts of the page, not by evaluate: some cases break functions that the driver needs.
          const first = `<script ${nonce}>var violations=[];addEventListener('securitypolicyviolation',e=>violations.push(e.violatedDirective));
          const DID_KEYS=${JSON.stringify(DID_KEYS)},QUEUE_KEYS=${JSON.stringify(QUEUE_KEYS)},fire=type=>dispatchEvent(new Event(type));
          ${setup}</script>`
          const body = `${first}${html}${shop.tag(nonce)}<script ${nonce}>{${act}}</script>`
          const path = location.split('?')[0] as string
          shop.page(path, { head: '', body, headers: policy })
          await page.goto(shop.url + location)

          const rows = await expectStored(
            expected.events.map(({ op, fields }) => ({
              operation: op,
              ...(fields && {
                payload: JSON.parse(JSON.stringify(fields).replaceAll('ORIGIN', shop.url)),
              }),
            })),
            { customer: own },
          )
          await STATEMENTS[id]?.({ page, rows, sent: wire.events.slice(before) })
          await page.goto(shop.page('/next'))
          // The next page delivers the remaining events; no event is stored twice.
          const late = id === 'H-T-018' ? [{ operation: 'search' }] : []
          await expectStored([...rows.map(({ id }) => ({ id })), ...late], { customer: own })
          await shop.close()
        })
    },
  )
}
