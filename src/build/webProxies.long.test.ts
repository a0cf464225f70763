import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest, type RequestOptions } from 'node:https'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Gateway } from '../gateway/index.ts'
import { layOutGateway, prepareGateway, send } from '../test/gateway.ts'
import { restartInTurn } from '../test/rollingRestart.ts'
import { startWebProxy, type WebProxy, type WebProxyName } from '../test/webProxy.ts'

/*
 * The examples of docs/deploy in a real nginx and a real Caddy, each as a host of its own and as a path.
 */

/** The address from which the visitor of a test comes. */
const VISITOR = '127.0.0.77'

type Sent = Pick<RequestOptions, 'method' | 'headers'> & { readonly body?: string | Buffer }

/** Opens a request through a proxy, from VISITOR. */
async function open(url: string, { body, ...options }: Sent = {}): Promise<IncomingMessage> {
  const request = url.startsWith('https:') ? httpsRequest : httpRequest
  const sent = request(url, {
    ...options,
    agent: false,
    localAddress: VISITOR,
    rejectUnauthorized: false,
  })
  sent.end(body)
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  return answer
}

async function ask(url: string, sent: Sent = {}) {
  const answer = await open(url, sent)
  const chunks: Buffer[] = []
  for await (const chunk of answer) chunks.push(chunk)
  const bytes = Buffer.concat(chunks)
  return { status: answer.statusCode, headers: answer.headers, bytes, text: `${bytes}` }
}

const JSON_TYPE = { 'content-type': 'application/json' }

describe.each<WebProxyName>(['nginx', 'caddy'])('%s', (name) => {
  let prepared: Awaited<ReturnType<typeof prepareGateway>>
  let gateway: Gateway
  let proxy: WebProxy
  let shop: { customerId: string; trackingKey: string; restKey: string }

  beforeAll(async () => {
    prepared = await prepareGateway()
    gateway = await prepared.start({ trustedProxies: ['127.0.0.1'] })
    const { customer, restKey } = gateway.customers.add({ origins: ['https://shop.example'] })
    shop = { customerId: customer.customerId, trackingKey: customer.trackingKey, restKey }
    proxy = await startWebProxy(name, join(prepared.folder, name), [gateway.url])
  })
  afterAll(async () => {
    await proxy.close()
    await prepared.end()
  })

  const post = (url: string, headers: Record<string, string>, search = 'mug', id = randomUUID()) =>
    ask(`${url}/t/r?k=${shop.trackingKey}&id=${id}`, {
      method: 'POST',
      headers: { origin: 'https://shop.example', ...headers },
      body: JSON.stringify({
        event: 'search',
        search_term: search,
        did: 'd-1',
        url: 'https://shop.example/',
        http_user_agent: 'UA/1',
        remote_addr: '0.0.0.0',
      }),
    })
  const addressOf = async (id: string) => {
    const rows = await gateway.log.read({ customer: shop.customerId, max: 1_000 })
    return JSON.parse(rows.find((row) => row.id === id)?.payload ?? '{}').remote_addr
  }

  test('the configuration is accepted without a warning', () => {
    expect(proxy.checked).not.toMatch(/\[warn\]|"level":"warn"|Error/)
  })

  describe.each(['subdomain', 'path'] as const)('as a %s', (form) => {
    test('an event has the address of its visitor, whatever the visitor sends', async () => {
      const forged = {
        'x-forwarded-for': '203.0.113.66',
        forwarded: 'for=203.0.113.66',
        'x-real-ip': '203.0.113.66',
      }
      for (const headers of [{}, forged]) {
        const id = randomUUID()
        expect((await post(proxy[form], headers, 'mug', id)).status).toBe(200)
        expect(await addressOf(id)).toBe(VISITOR)
      }
    })

    test('the script arrives as the gateway compressed it, and is not sent again', async () => {
      const path = `/t/j/${shop.trackingKey}`
      const headers = { 'accept-encoding': 'br' }
      const own = await ask(proxy[form] + path, { headers })
      expect(own.status).toBe(200)
      expect(own.headers['content-encoding']).toBe('br')
      const { bytes } = await send(gateway.url, path, { headers })
      // The script names the gateway's address only if PUBLIC_URL is set, so it is the same.
      expect(own.bytes.equals(bytes)).toBe(true)
      const etag = own.headers.etag ?? ''
      const again = await ask(proxy[form] + path, {
        headers: { ...headers, 'if-none-match': etag },
      })
      expect([again.status, again.bytes.length, again.headers.etag]).toEqual([304, 0, etag])
    })

    test('60 kB of cookies, and a body of 5 MB', async () => {
      const cookie = Array.from({ length: 30 }, (_, i) => `c${i}=${'x'.repeat(2_000)}`).join('; ')
      expect((await post(proxy[form], { cookie })).status).toBe(200)
      const large = await ask(
        `${proxy[form]}/api/v1/campaigns/create?u=${shop.customerId}&k=wrong`,
        {
          method: 'POST',
          headers: JSON_TYPE,
          body: 'x'.repeat(5_000_000),
        },
      )
      // The gateway's own answer.
      expect([large.status, JSON.parse(large.text)]).toEqual([
        401,
        { message: 'The REST key (k) is wrong' },
      ])
    })

    test('an operator signs in, and sees events at once', async () => {
      const login = await ask(`${proxy[form]}/live/login`, {
        method: 'POST',
        headers: JSON_TYPE,
        body: JSON.stringify({ ...shop, path: '/' }),
      })
      expect(login.status).toBe(200)
      const cookie = login.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
      expect(/; Secure/.test(login.headers['set-cookie']?.[0] ?? '')).toBe(
        proxy[form].startsWith('https:'),
      )
      const stream = await open(`${proxy[form]}/live/events`, { headers: { cookie } })
      expect(stream.statusCode).toBe(200)
      const search = `seen ${randomUUID()}`
      let text = ''
      let isSent = false
      for await (const chunk of stream) {
        text += chunk
        // Only once the stream has begun, so that the event does not come with its first bytes.
        if (!isSent) await post(proxy[form], {}, search)
        isSent = true
        if (text.includes(search)) break
      }
      expect(text).toContain(search)
      const pages = ['live', 'campaigns', 'people', 'setup'].map((page) =>
        ask(`${proxy[form]}/${page}/`),
      )
      expect((await Promise.all(pages)).map(({ status }) => status)).toEqual([200, 200, 200, 200])
    })

    test('readiness and metrics are not for strangers', async () => {
      for (const path of ['/readyz', '/metrics']) {
        const { status, text } = await ask(proxy[form] + path)
        expect([status, text.includes('message')]).toEqual([404, false])
      }
    })
  })

  test('events arrive while both gateways refuse another request with 503', async () => {
    const two = await Promise.all(
      [1, 2].map(() => prepared.start({ trustedProxies: ['127.0.0.1'], live: { maxViews: 0 } })),
    )
    const urls = two.map(({ url }) => url)
    const { path, close } = await startWebProxy(name, join(prepared.folder, `${name}-two`), urls)
    const login = await ask(`${path}/live/login`, {
      method: 'POST',
      headers: JSON_TYPE,
      body: JSON.stringify({ ...shop, path: '/' }),
    })
    const cookie = login.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
    const seen = []
    for (let i = 0; i < 4; i++) {
      const view = await ask(`${path}/live/events`, { headers: { cookie } })
      seen.push([view.status, (await post(path, {})).status, (await post(path, {})).status])
    }
    await close()
    expect(seen).toEqual(Array(4).fill([503, 200, 200]))
  })

  test('two gateways are restarted in turn without a failed request', async () => {
    const folder = layOutGateway()
    const { failed, acknowledged, stored } = await restartInTurn(folder, {
      drainMs: 2_000,
      signal: 'SIGTERM',
      async balance(gateways) {
        const two = await startWebProxy(name, join(folder, name), gateways)
        return {
          url: two.path,
          answered: [],
          untilReady: async () => {},
          close: two.close,
        }
      },
    })
    expect(failed).toEqual([])
    expect([...stored].sort()).toEqual([...acknowledged].sort())
  })
})
