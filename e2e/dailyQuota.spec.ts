import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { expect, test } from './fixtures.ts'
import { loadGateway, makeFolder } from './gateway.ts'

test.use({ testIdAttribute: 'data-test' })

test('the operators’ pages warn before the daily quota is used up, and when it is', async ({
  page,
  watch,
}) => {
  const folder = makeFolder('quota')
  const { startGateway } = await loadGateway()
  const gateway = await startGateway({
    dataDir: folder,
    demo: true,
    limits: { daily: { events: 10 } },
  })
  const { customerId, trackingKey } = gateway.customers.find('demo') ?? {}
  const send = (count: number) =>
    fetch(`${gateway.url}/t/batch?k=${trackingKey}`, {
      method: 'POST',
      headers: { origin: 'http://localhost', 'content-type': 'text/plain' },
      body: JSON.stringify({
        events: Array.from({ length: count }, () => ({
          id: randomUUID(),
          payload: {
            did: 'd-1',
            event: 'search',
            search_term: 'mug',
            url: 'http://localhost/',
            http_user_agent: 'Mozilla/5.0',
          },
        })),
      }),
    })
  const quota = page.getByTestId('quota')

  await page.clock.install()
  expect((await send(7)).status).toBe(200)
  await page.goto(`${gateway.url}/live/`)
  await expect(page.getByTestId('total')).toHaveText('7')
  await expect(quota).toBeHidden()

  expect((await send(1)).status).toBe(200)
  await expect(page.getByTestId('total')).toHaveText('8')
  await page.clock.runFor(61_000)
  await expect(quota).toHaveText(
    /^80 % of today’s 10 events are used\. .* until midnight UTC, in \S+ /,
  )
  await page.goto(`${gateway.url}/campaigns/?customer=${customerId}`)
  await expect(quota).toHaveText(/^80 % of today’s 10 events are used\./)

  expect((await send(2)).status).toBe(200)
  expect((await send(1)).status).toBe(429)
  await page.clock.runFor(61_000)
  await expect(quota).toHaveText(/^Today’s 10 events are used up\./)

  await page.getByTestId('sign-in').click()
  await expect(quota).toBeHidden()
  await page.getByRole('button', { name: 'Back' }).click()
  await expect(quota).toBeVisible()
  expect(watch.faults.splice(0)).toEqual([])
  await page.close()
  await gateway.close()
  rmSync(folder, { recursive: true, force: true })
})
