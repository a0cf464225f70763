import { rmSync } from 'node:fs'
import type { Page } from '@playwright/test'
import type { Gateway } from '../src/gateway/index.ts'
import { fillRest } from './campaignPage.ts'
import { expect, test as playwright } from './fixtures.ts'
import { loadGateway, makeFolder } from './gateway.ts'
import { addOperated, fillLogin } from './operatorPage.ts'
import { startPrefixProxy } from './prefixProxy.ts'

// Everything that the gateway serves, below a path of another host: `location /st/ { proxy_pass …; }`.

type Below = {
  readonly gateway: Gateway
  /** Its address behind the proxy, without a slash at its end. */
  readonly base: string
}
type Paths = {
  /** A gateway below `/st/`. The proxy removes the path. */
  st: Below
  /** A gateway below `/shops/two/` of the same host. The proxy keeps the path. */
  two: Below
}

const test = playwright.extend<object, Paths & { paths: Paths }>({
  paths: [
    async ({ browserName }, use) => {
      const { startGateway } = await loadGateway()
      const folder = makeFolder(`prefix-${browserName}`)
      const proxy = await startPrefixProxy()
      const start = async (path: string, how: 'removed' | 'kept') => {
        const base = proxy.url + path.slice(0, -1)
        const dataDir = `${folder}/${path.length}`
        const gateway = await startGateway({ dataDir, demo: true, publicUrl: base })
        proxy.forward(path, gateway.url, how)
        return { gateway, base }
      }
      const both = { st: await start('/st/', 'removed'), two: await start('/shops/two/', 'kept') }
      await use(both)
      await proxy.close()
      await both.st.gateway.close()
      await both.two.gateway.close()
      rmSync(folder, { recursive: true, force: true })
    },
    { scope: 'worker' },
  ],
  st: [async ({ paths }, use) => use(paths.st), { scope: 'worker' }],
  two: [async ({ paths }, use) => use(paths.two), { scope: 'worker' }],
})
test.use({ testIdAttribute: 'data-test' })

/** Collects requests of a page that left the path, or that failed. A sign-in that is missing is not a failure. */
function watchRequests(page: Page, base: string): string[] {
  const wrong: string[] = []
  page.context().on('response', (response) => {
    const isFailed = response.status() >= 400 && response.status() !== 401
    const url = response.url()
    if (/^https?:/.test(url) && (isFailed || !url.startsWith(`${base}/`)))
      wrong.push(`${response.status()} ${url}`)
  })
  return wrong
}

for (const name of ['st', 'two'] as const)
  test(`the demo works below a path: ${name}`, async ({ page, context, paths }) => {
    const { base } = paths[name]
    const wrong = watchRequests(page, base)
    // The shop, its script, the inspector.
    await page.goto(`${base}/`)
    await expect(page).toHaveURL(`${base}/shop/`)
    await page.goto(`${base}/shop/product.html?id=12&track.debug=1`)
    await page.getByTestId('add-to-cart').click()
    await expect(page.locator('shoptrail-inspector')).toBeAttached()
    await page.goto(`${base}/shop/plain/index.html`)
    // Its page views are visits of the campaign.
    await page.getByTestId('letter-link').click()
    // The live view, reached by the shop's link without a slash at its end.
    const [live] = await Promise.all([
      context.waitForEvent('page'),
      page.getByTestId('live-link').first().click(),
    ])
    await expect(live.getByTestId('state')).toHaveText('live')
    await expect(live.getByTestId('row').first()).toBeVisible()
    await live.getByTestId('to-campaigns').click()
    await expect(live).toHaveURL(`${base}/campaigns/?customer=demo`)
    await live.getByTestId('open-campaign').first().click()
    await expect(live.getByTestId('report')).toBeVisible()
    await live.getByTestId('to-people').click()
    await expect(live).toHaveURL(`${base}/people/?customer=demo`)
    await live.getByTestId('to-setup').click()
    await expect(live.getByTestId('shop')).toHaveValue(`${base}/shop/`)
    await expect(live.getByTestId('tag')).toHaveText(
      `<script async src="${base}/t/j/DEMOSHOP"></script>`,
    )
    await live.getByTestId('check').click()
    await expect(live.getByTestId('verdict')).toHaveText(/Nothing keeps events from arriving/)
    for (const path of ['live', 'campaigns', 'people', 'forward', 'setup', 'shop']) {
      await live.goto(`${base}/${path}`)
      await expect(live).toHaveURL(new RegExp(`^${base}/${path}/`))
    }
    expect(wrong).toEqual([])
  })

test('an operator signs in, creates a campaign and signs out below a path', async ({
  page,
  context,
  st,
  two,
}) => {
  const wrong = watchRequests(page, st.base)
  const kiln = addOperated(st.gateway, 'Kiln')
  await page.goto(`${st.base}/live/?customer=${kiln.customerId}`)
  await fillLogin(page, kiln)
  await expect(page.getByTestId('state')).toHaveText('live')
  await page.getByTestId('show-tag').click()
  await expect(page.getByTestId('tag-dialog')).toContainText(
    `src="${st.base}/t/j/${kiln.trackingKey}"`,
  )
  await page.goto(`${st.base}/campaigns/?customer=${kiln.customerId}&new=`)
  await page.getByTestId('subject.name').fill('Mugs')
  await fillRest(page)
  await page.getByTestId('create').click()
  await page.goto(`${st.base}/campaigns/?customer=${kiln.customerId}`)
  await expect(page.getByTestId('open-campaign')).toHaveText(['Mugs'])
  await page.goto(`${st.base}/people/?customer=${kiln.customerId}`)
  expect(wrong).toEqual([])
  await page.getByTestId('person').fill('bea@shop.example')
  await page.getByTestId('find').click()
  await expect(page.getByTestId('nothing')).toBeVisible()
  expect((await context.cookies()).map(({ path }) => path)).toEqual(['/st/'])

  // The other gateway of the same host: a sign-in of its own, which does not end the first.
  const other = await context.newPage()
  const loam = addOperated(two.gateway, 'Loam')
  await other.goto(`${two.base}/live/?customer=${loam.customerId}`)
  await fillLogin(other, loam)
  await expect(other.getByTestId('state')).toHaveText('live')
  await page.goto(`${st.base}/live/?customer=${kiln.customerId}`)
  await expect(page.getByTestId('state')).toHaveText('live')
  await page.getByTestId('sign-out').click()
  await expect(page.getByTestId('login-submit')).toBeVisible()
  await other.reload()
  await expect(other.getByTestId('state')).toHaveText('live')
  expect((await context.cookies()).map(({ path }) => path)).toEqual(['/shops/two/'])
})
