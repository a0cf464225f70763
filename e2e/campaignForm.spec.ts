import type { Page } from '@playwright/test'
import { addShop, campaign, fillRest, names, openForm, signIn, test } from './campaignPage.ts'
import { expect } from './fixtures.ts'

// The form for a new campaign.

test.use({ testIdAttribute: 'data-test' })

test('a campaign is created with the form: errors are shown at their fields, and no input is lost', async ({
  page,
  demo,
}) => {
  const shop = await addShop(demo, 'Kiln')
  await signIn(page, demo, shop)
  await expect(page.getByTestId('no-campaigns')).toContainText('Create a campaign')
  await page.getByTestId('first-campaign').click()
  const field = (path: string) => page.getByTestId(path)
  await field('sender.name').fill('Kiln')
  await field('sender.sender').fill('letters@kiln')
  await field('create').click()

  await expect(field('subject.name')).toBeFocused()
  await expect(field('wrong-subject.name')).toHaveText('Please fill this in.')
  await expect(field('subject.name')).toHaveAttribute('aria-invalid', 'true')
  await expect(field('subject.name')).toHaveAccessibleDescription(
    /Only you see it.*Please fill this in/,
  )
  await expect(field('wrong-sender.sender')).toHaveText(
    'Expected an e-mail address of at most 254 characters, received "letters@kiln"',
  )
  // The same address is used for replies, so its error is shown once.
  await expect(field('wrong-sender.reply_to')).toBeEmpty()
  await expect(field('wrong-content.html')).toHaveText('Please fill this in.')
  await expect(field('wrong-sender.name')).toBeEmpty()
  await expect(field('faults')).toContainText('6 fields need another look')
  await expect(field('faults')).toContainText('Campaign name · Subject line · Preview text')

  // The errors of a changed field, and of a field that follows it, disappear. The others stay.
  await field('subject.name').fill('Căni de toamnă')
  await expect(field('wrong-subject.name')).toBeEmpty()
  await expect(field('subject.name')).not.toHaveAttribute('aria-invalid')
  await expect(field('wrong-tracking.utm_campaign')).toBeEmpty()
  await expect(field('faults')).toContainText('4 fields need another look')
  await expect(field('tracking.utm_campaign')).toHaveValue('cani-de-toamna')
  await field('subject.subject_line').fill('Now')
  await field('subject.preview_text').fill('Look')
  await field('sender.sender').fill('letters@kiln.example')
  await expect(field('sender.reply_to')).toHaveValue('letters@kiln.example')
  await field('content.html').fill('<h1 style="color: teal">Out of the kiln</h1>')
  await field('scheduling.date').fill('')
  await field('create').click()
  await expect(field('wrong-scheduling.send_at')).toHaveText('The day is missing.')
  await expect(field('scheduling.date')).toBeFocused()
  await expect(field('wrong-subject.name')).toBeEmpty()
  await expect(field('subject.name')).not.toHaveAttribute('aria-invalid')
  await field('scheduling.date').fill('2020-12-24')
  await expect(field('note-scheduling.send_at')).toContainText('in the past')
  await expect(field('faults')).toBeEmpty()
  await field('scheduling.date').fill('2099-12-24')
  await expect(field('note-scheduling.send_at')).toBeEmpty()
  await field('scheduling.time').fill('18:30')

  // The input survives a failed request, a reload and another view.
  await page.route('**/campaigns/data/create*', (route) => route.abort())
  await field('create').click()
  await expect(field('faults')).toContainText('The gateway does not answer')
  await page.unroute('**/campaigns/data/create*')
  await page.reload()
  await expect(field('subject.name')).toHaveValue('Căni de toamnă')
  await page.getByTestId('new').getByTestId('back').click()
  await page.goBack()
  await expect(field('scheduling.time')).toHaveValue('18:30')

  await field('create').click()
  await expect(page.getByTestId('campaign-name')).toHaveText('Căni de toamnă')
  await expect(page.getByTestId('link')).toHaveText(
    'https://shop.example/?utm_campaign=cani-de-toamna&utm_medium=email&utm_source=newsletter',
  )
  await expect(page.getByTestId('open-shop')).toHaveCount(0)
  const { summaries } = await demo.campaigns.list(shop.customerId, { page: 1, limit: 9 })
  expect(summaries).toMatchObject([
    {
      type: 'email',
      mode: 'regular',
      sender: { name: 'Kiln', sender: 'letters@kiln.example', reply_to: 'letters@kiln.example' },
      audience: { audience_type: 'all', smart_sending: true },
      scheduling: { send_at: '2099-12-24 18:30', use_optimal_time: 0, optimize_for: 'opening' },
    },
  ])
  // The next form is empty.
  await page.getByTestId('campaign').getByTestId('back').click()
  await page.getByTestId('new-campaign').click()
  await expect(field('subject.name')).toHaveValue('')
})

test('the preview shows a letter’s styles, runs no script and loads nothing', async ({
  page,
  demo,
}) => {
  const shop = await addShop(demo, 'Letters')
  await signIn(page, demo, shop)
  const asked: string[] = []
  page.on('request', (request) => asked.push(request.url()))
  await page.getByTestId('first-campaign').click()
  await page
    .getByTestId('content.html')
    .fill(
      '<style>h1 { color: rgb(1, 2, 3) }</style><h1 onclick="top.seen=1" style="font-size: 31px">Hello</h1>' +
        '<script>top.seen = 1</script><img src="https://pixel.example/p.gif" onerror="top.seen=1">' +
        '<p style="background: url(https://pixel.example/b.png)"><a href="https://shop.example/">there</a></p>',
    )
  const letter = page.frameLocator('#new iframe')
  await expect(letter.locator('h1')).toHaveCSS('color', 'rgb(1, 2, 3)')
  await expect(letter.locator('h1')).toHaveCSS('font-size', '31px')
  await expect(page.locator('#new iframe')).toHaveAttribute('sandbox', '')
  await letter.locator('h1').click()
  await letter.locator('a').click()
  await expect(letter.locator('h1')).toBeVisible()
  expect(await page.evaluate(() => 'seen' in window)).toBe(false)
  expect(asked.filter((url) => !url.startsWith(demo.url) && !url.startsWith('data:'))).toEqual([])
})

test('the link in the example letter is the campaign’s link', async ({ page, demo }) => {
  const shop = await addShop(demo, 'Example', ['Ours'])
  await signIn(page, demo, shop)
  await openForm(page, demo, shop)
  const html = page.getByTestId('content.html')
  await expect(page.getByTestId('no-link')).toContainText('when all three utm values are filled in')
  await page.getByTestId('use-example').click()
  await page.getByTestId('subject.name').fill('Mugs & co')
  const link = (utm: string) => `"https://shop.example/?${utm.replaceAll('&', '&amp;')}"`
  await expect(html).toHaveValue(/utm_campaign=mugs-co&amp;utm_medium=email/)
  await page.getByTestId('tracking.utm_source').fill('a b')
  const values = link('utm_campaign=mugs-co&utm_medium=email&utm_source=a+b')
  expect(await html.inputValue()).toContain(`<a href=${values} style=`)
  await expect(page.getByTestId('new-link')).toContainText('utm_source=a+b')

  // Around selected text.
  await html.fill('See the mugs.')
  await html.evaluate((area: HTMLTextAreaElement) => area.setSelectionRange(4, 12))
  await page.getByTestId('insert-link').click()
  await expect(html).toHaveValue(`See <a href=${values}>the mugs</a>.`)

  // The form warns if another campaign has the same utm values.
  await page.getByTestId('tracking.utm_campaign').fill('mugs')
  await page.getByTestId('tracking.utm_source').fill('letter')
  await expect(page.getByTestId('note-tracking.utm_campaign')).toContainText(
    'Same utm values as “Ours”',
  )
})

test('on a channel other than e-mail the form says why every field is required', async ({
  page,
  demo,
}) => {
  await page.goto(`${demo.url}/campaigns/?customer=demo&new=`)
  await expect(page.getByTestId('note-type')).toBeHidden()
  await expect(page.getByTestId('campaign-form')).toContainText('This gateway sends nothing itself')
  await page.getByTestId('campaign-form').getByText('SMS').click()
  await expect(page.getByTestId('note-type')).toContainText('every field on every channel')
  await expect(page.getByLabel('Title', { exact: true })).toBeVisible()
  await expect(page.getByLabel('Subject line', { exact: true })).toHaveCount(0)
  await page.getByTestId('campaign-form').getByText('E-mail', { exact: true }).click()
  await expect(page.getByLabel('Subject line', { exact: true })).toBeVisible()
})

test('updates of the preview add no entries to the history', async ({ page, demo }) => {
  const shop = await addShop(demo, 'History', ['Ours'])
  await signIn(page, demo, shop)
  await page.getByTestId('new-campaign').click()
  const long = await page.evaluate(() => history.length)
  for (const text of ['one', 'two', 'three']) {
    await page.getByTestId('content.html').fill(`<p>${text}</p>`)
    await expect(page.frameLocator('#new iframe').locator('p')).toHaveText(text)
  }
  expect(await page.evaluate(() => history.length)).toBe(long)
  await page.goBack()
  await expect(page.getByTestId('list')).toBeVisible()
  await page.getByTestId('open-campaign').click()
  await page.getByText('Content and settings').click()
  await expect(page.frameLocator('#campaign iframe').locator('p')).toHaveText('Hello')
  await page.goBack()
  await expect(page.getByTestId('list')).toBeVisible()
})

/** Holds requests to create a campaign until they are released. */
async function holdCreates(page: Page) {
  let letGo = () => {}
  const held = new Promise<void>((resolve) => {
    letGo = resolve
  })
  await page.route('**/campaigns/data/create*', async (route) => {
    await held
    await route.continue()
  })
  return letGo
}

test('an operator who opens another view while a campaign is created stays there and sees the outcome', async ({
  page,
  demo,
}) => {
  const shop = await addShop(demo, 'Leaving')
  const other = await addShop(demo, 'Other')
  await signIn(page, demo, other)
  await signIn(page, demo, shop)
  await openForm(page, demo, shop)
  await page.getByTestId('subject.name').fill('Left alone')
  await fillRest(page)
  let letGo = await holdCreates(page)
  await page.getByTestId('create').click()
  await expect(page.getByTestId('create')).toHaveText('Creating…')
  await page.getByTestId('new').getByTestId('back').click()
  await expect(page.getByTestId('list')).toBeVisible()
  letGo()
  await expect(page.getByTestId('notice')).toHaveText('“Left alone” was created.')
  await expect.poll(() => names(page)).toEqual(['Left alone'])
  await expect(page.getByTestId('list')).toBeVisible()

  // The form is empty again. Now another customer is watched meanwhile.
  await page.unroute('**/campaigns/data/create*')
  await page.getByTestId('new-campaign').click()
  await expect(page.getByTestId('notice')).toBeHidden()
  await expect(page.getByTestId('subject.name')).toHaveValue('')
  await page.getByTestId('subject.name').fill('For one')
  await fillRest(page)
  letGo = await holdCreates(page)
  await page.getByTestId('create').click()
  await page.getByTestId('customer').selectOption('Other')
  const created = page.waitForResponse('**/campaigns/data/create*')
  letGo()
  await (await created).finished()
  await expect(page.getByTestId('no-campaigns')).toBeVisible()
  await expect(page).toHaveURL(`${demo.url}/campaigns/?customer=${other.customerId}`)
  await expect(page.getByTestId('notice')).toBeHidden()
  await page.getByTestId('first-campaign').click()
  await expect(page.getByTestId('create')).toBeEnabled()
})

test('a request to create without an answer times out, and can be sent again', async ({
  page,
  demo,
}) => {
  const shop = await addShop(demo, 'Hung')
  await signIn(page, demo, shop)
  await openForm(page, demo, shop)
  // The minute of the timeout is over when the test says so.
  await page.evaluate(() => {
    const real = AbortSignal.timeout.bind(AbortSignal)
    AbortSignal.timeout = (ms) => {
      if (ms !== 60_000) return real(ms)
      const minute = new AbortController()
      Object.assign(window, { endMinute: () => minute.abort(new DOMException('', 'TimeoutError')) })
      return minute.signal
    }
  })
  await page.getByTestId('subject.name').fill('Hung')
  await page.route('**/campaigns/data/create*', () => {})
  await page.getByTestId('create').click()
  await page.getByTestId('new').getByTestId('back').click()
  await page.goBack()
  await expect(page.getByTestId('create')).toHaveText('Creating…')
  await page.evaluate('endMinute()')
  await expect(page.getByTestId('create')).toHaveText('Create campaign')
  await expect(page.getByTestId('create')).toBeEnabled()
  await expect(page.getByTestId('faults')).toContainText('The gateway does not answer')
  await expect(page.getByTestId('subject.name')).toHaveValue('Hung')
})

test('a draft survives the end of a session, and is removed by signing out', async ({
  page,
  context,
  demo,
}) => {
  const shop = await addShop(demo, 'Drafts')
  await signIn(page, demo, shop)
  await openForm(page, demo, shop)
  await page.getByTestId('subject.name').fill('Secret')
  await context.clearCookies()
  await page.reload()
  await expect(page.getByTestId('login-customer')).toHaveValue(shop.customerId)
  await page.getByLabel('REST key').fill(shop.restKey)
  await page.getByTestId('login-submit').click()
  await expect(page.getByTestId('subject.name')).toHaveValue('Secret')

  await page.getByTestId('sign-out').click()
  await expect(page.getByTestId('login-customer')).toHaveValue(shop.customerId)
  await expect(page).toHaveURL(`${demo.url}/campaigns/`)
  expect(await page.evaluate(() => JSON.stringify(sessionStorage))).not.toContain('Secret')
  await page.getByLabel('REST key').fill(shop.restKey)
  await page.getByTestId('login-submit').click()
  await page.getByTestId('first-campaign').click()
  await expect(page.getByTestId('subject.name')).toHaveValue('')
})

test('the note on equal utm values names campaigns of the same customer only', async ({
  page,
  demo,
}) => {
  const shop = await addShop(demo, 'Mugs', ['Ours'])
  const other = await addShop(demo, 'Bowls')
  await signIn(page, demo, other)
  await signIn(page, demo, shop)
  const note = page.getByTestId('note-tracking.utm_campaign')
  const fillUtm = async () => {
    for (const [name, value] of Object.entries(campaign('').tracking))
      await page.getByTestId(`tracking.${name}`).fill(value)
    await expect(page.getByTestId('new-link')).toContainText('utm_source=letter')
  }
  await page.getByTestId('new-campaign').click()
  await fillUtm()
  await expect(note).toContainText('“Ours”')

  await page.getByTestId('customer').selectOption('Bowls')
  await expect(page.getByTestId('no-campaigns')).toBeVisible()
  // The list of the other customer's campaigns does not arrive.
  await page.route('**/campaigns/data/list*', () => {})
  await page.getByTestId('first-campaign').click()
  await fillUtm()
  await expect(note).toBeEmpty()
})
