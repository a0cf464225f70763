import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { prepareGateway, recordsOf, send } from '../test/gateway.ts'
import type { Gateway } from './index.ts'

/** Requests as existing public clients make them, replayed as they were recorded, key aside. */
type Recorded = {
  readonly client: 'php' | 'node'
  readonly method: string
  readonly path: string
  readonly query_raw: string
  readonly body_raw?: string
}
const { vectors, headers } = JSON.parse(
  readFileSync(new URL('./fixtures/wire.json', import.meta.url), 'utf8'),
) as {
  readonly vectors: readonly {
    readonly operation: string
    readonly recorded: readonly Recorded[]
  }[]
  readonly headers: Record<string, Record<string, Record<string, string>>>
}

let prepared: Awaited<ReturnType<typeof prepareGateway>>
let gateway: Gateway
let restKey: string

beforeAll(async () => {
  prepared = await prepareGateway()
  gateway = await prepared.start()
  const { customers } = gateway
  restKey = customers.add({ customerId: 'CUST-1', trackingKey: 'TRACKKEY1' }).restKey
  customers.add({ trackingKey: 'OTHERKEY99' })
})
afterAll(() => prepared.end())

const table = vectors.flatMap(({ operation, recorded }) =>
  recorded
    .filter(({ path }) => path.startsWith('/t/'))
    .map((request) => ({ operation, client: request.client, request })),
)

test.each(table)('$operation of the $client client', async ({ operation, client, request }) => {
  const { method, path, query_raw, body_raw } = request
  const kind = method === 'GET' ? 'GET' : 'POST_with_body'
  const { 'content-length': _, 'Content-Length': __, ...own } = headers[client]?.[kind] ?? {}
  const answer = await send(gateway.url, `${path}?${query_raw.replace('REST-KEY-1', restKey)}`, {
    method,
    headers: own,
    ...(body_raw && { body: body_raw }),
  })
  expect(answer.status).toBe(200)
  const isZipped = answer.headers['content-encoding'] === 'gzip'
  const body = JSON.parse((isZipped ? gunzipSync(answer.bytes) : answer.bytes).toString())
  if (operation.startsWith('serveJavascript')) {
    expect(path.endsWith(body.trackingKey)).toBe(true)
    return
  }
  const record = (await recordsOf(gateway)).at(-1)
  expect(record?.id).toBe(body.id)
  expect(JSON.parse(record?.payload ?? '')).toEqual(JSON.parse(body_raw ?? ''))
})
