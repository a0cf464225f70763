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

test('a stop is clean after readers that left with answers they had not got', async () => {
  const gateway = await startProcess(folder)
  const keys = `u=demo&k=${/REST key +(\S+)/.exec(gateway.said())?.[1]}`
  const content = { html: 'x'.repeat(512_000) }
  for (let i = 0; i < 6; i++) {
    const body = JSON.stringify({ ...completePayloads.create, content })
    const target = `/api/v1/campaigns/create?${keys}`
    expect((await send(gateway.url, target, { method: 'POST', body })).status).toBe(200)
  }
  const list = `GET /api/v1/get-latest-campaign?${keys}&limit=100 HTTP/1.1\r\nHost: a\r\n\r\n`
  const reader = connect(Number(new URL(gateway.url).port), '127.0.0.1')
  reader.write(list.repeat(4))
  await new Promise((resolve) => reader.once('data', resolve))
  reader.pause()
  // What it asked for last is being answered once this is.
  expect((await send(gateway.url, '/readyz')).status).toBe(200)
  reader.destroy()
  expect(await gateway.end('SIGTERM')).toBe(0)
})
