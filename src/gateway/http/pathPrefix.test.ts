import { afterAll, beforeAll, expect, test } from 'vitest'
import { prepareGateway, send } from '../../test/gateway.ts'

let prepared: Awaited<ReturnType<typeof prepareGateway>>
beforeAll(async () => {
  prepared = await prepareGateway()
})
afterAll(() => prepared.end())

const statusesOf = async (publicUrl: string | undefined, ...targets: string[]) => {
  const gateway = await prepared.start({
    dataDir: `${prepared.folder}/${Math.random()}`,
    publicUrl,
  })
  const answers = targets.map(async (target) => (await send(gateway.url, target)).status)
  return Promise.all(answers)
}

test('the path of PUBLIC_URL is removed if the proxy has not done it', async () => {
  const [below, bare, page, twice, like, other] = await statusesOf(
    'https://shop.example/a/st',
    '/a/st/livez?x=/a/st/',
    '/livez',
    '/a/st/live/page.js',
    '/a/st/a/st/livez',
    '/a/stlivez',
    '/a/livez',
  )
  expect([below, bare, page]).toEqual([200, 200, 200])
  expect([twice, like, other]).toEqual([404, 404, 404])
})

test('a path that begins like one of the gateway is left to the proxy', async () => {
  // 405: the path of the events, which takes POST.
  expect(await statusesOf('https://shop.example/t', '/t/r', '/t/livez')).toEqual([405, 404])
})

test('without a path in PUBLIC_URL nothing is removed', async () => {
  expect(await statusesOf('https://shop.example', '/livez', '//livez')).toEqual([200, 404])
  expect(await statusesOf(undefined, '/livez')).toEqual([200])
})
