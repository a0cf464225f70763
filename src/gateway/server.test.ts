import { rmSync } from 'node:fs'
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { layOutGateway, send, startProcess } from '../test/gateway.ts'
import { completePayloads } from '../test/payloads.ts'

let folder: string
beforeAll(async () => {
  folder = layOutGateway()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('a stop is clean after a reader has left without its answers', async () => {
  const gateway = await startProcess(folder)
  const keys = `u=demo&k=${/REST key +(\S+)/.exec(gateway.output())?.[1]}`
  const body = JSON.stringify({
    ...completePayloads.create,
    content: { html: '漢'.repeat(512_000) },
  })
  const created = await send(gateway.url, `/api/v1/campaigns/create?${keys}`, {
    method: 'POST',
    body,
  })
  expect(created.status).toBe(200)
  const target = `/campaigns/data/campaign?id=${JSON.parse(created.text).id}`
  const get = `GET ${target} HTTP/1.1\r\nHost: localhost\r\n\r\n`
  const reader = connect(Number(new URL(gateway.url).port), '127.0.0.1')
  reader.write(get.repeat(4))
  const first = await new Promise((resolve) => reader.once('data', resolve))
  expect(`${first}`).toMatch(/^HTTP\/1\.1 200/)
  reader.pause()
  expect((await send(gateway.url, '/readyz')).status).toBe(200)
  reader.destroy()
  expect(await gateway.end('SIGTERM')).toBe(0)
})
