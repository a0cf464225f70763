import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, expect, test } from 'vitest'
import { prepareGateway, recordsOf, send } from '../../test/gateway.ts'
import { completePayloads } from '../../test/payloads.ts'

const KEYS = 'k=REST-KEY-00000001&u=CUST-1'

const prepared = await prepareGateway()
afterAll(() => prepared.end())
// The calls wait for a disk that stalls, however long this takes on a busy machine.
const gateway = await prepared.start({ queue: { deadlineMs: 60_000 } })
gateway.customers.add({ customerId: 'CUST-1', restKey: 'REST-KEY-00000001' })

async function post(path: string, body: object) {
  const answer = await send(gateway.url, `/api/v1/${path}?${KEYS}`, {
    method: 'POST',
    body: JSON.stringify(body),
  })
  return { status: answer.status, ...JSON.parse(answer.text) }
}

/** Sends a call while the disk stalls. Resolves when the gateway has it, with the promise of its answer. */
async function postOnly(path: string, body: object) {
  const answer = post(path, body)
  // Each of these answers comes after what was sent before.
  for (let i = 0; i < 2; i++) await send(gateway.url, '/livez')
  return { answer }
}

const order = { ...completePayloads.saveOrder, number: 'SAME' }
const email = 'ana@shop.example'

test.each<[string, [string, object], [string, object]]>([
  ['an order', ['save_order', order], ['save_order', { ...order, total_value: 7 }]],
  [
    'a status',
    ['update_order_status', { order_number: 'SAME', order_status: 'paid' }],
    ['update_order_status', { order_number: 'SAME', order_status: 'refunded' }],
  ],
  [
    'a subscriber',
    ['add_subscriber', { email }],
    ['remove_subscriber', { email: email.toUpperCase() }],
  ],
])(
  'the last of two calls about %s wins, also if the first one is not stored yet',
  async (...[name, first, other]) => {
    expect(await post(...first)).toMatchObject({ status: 200, stored: true })
    const before = (await recordsOf(gateway)).length
    const database = new Database(join(prepared.folder, 'data/events.db'))
    database.exec('BEGIN IMMEDIATE')
    const stalled = await postOnly('save_order', { ...order, number: `before ${name}` })
    const changed = await postOnly(...other)
    const back = await postOnly(...first)
    database.exec('ROLLBACK')
    database.close()
    for (const { answer } of [stalled, changed, back])
      expect(await answer).toMatchObject({ status: 200, stored: true })
    const records = (await recordsOf(gateway)).slice(before)
    expect(records.map(({ event }) => event)).toEqual(['save_order', other[0], first[0]])
  },
)

test('of equal calls at the same moment one is stored', async () => {
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => post('save_order', { ...order, number: 'EQUAL' })),
  )
  expect(answers.filter(({ stored }) => stored)).toHaveLength(1)
})
