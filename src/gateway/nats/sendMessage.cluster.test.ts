import type { Msg, NatsConnection } from '@nats-io/transport-node'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { takeAccount } from '../../test/sharedCluster.ts'
import { connectNats } from './broker.ts'
import { sendMessage } from './sendMessage.ts'

let nc: NatsConnection
const arrived: Msg[] = []

beforeAll(async () => {
  nc = await connectNats({ ...takeAccount() })
  nc.subscribe('sent.*', { callback: (_, message) => void arrived.push(message) })
})
afterAll(() => nc.close())

const send = (data: Uint8Array, id = 'shop/1') =>
  sendMessage(nc, { subject: 'sent.shop', reply: 'answers.1', id, data })

test.each<[string, Uint8Array, string]>([
  ['text', Buffer.from('{"a":"lămpi"}'), 'shop/1'],
  ['no data', new Uint8Array(0), 'shop/1'],
  ['bytes and line breaks', Buffer.from([0, 255, 13, 10, 13, 10, 128]), 'shop/1'],
  ['more than one write', Buffer.alloc(200_000, 'x'), 'shop/1'],
  ['an id that is not ASCII', Buffer.from('x'), 'magazin-lămpi/1'],
])('a message arrives as it is: %s', async (_, data, id) => {
  arrived.length = 0
  send(data, id)
  send(Buffer.from('next'))
  await vi.waitFor(() => expect(arrived).toHaveLength(2), { timeout: 30_000 })
  const [first, next] = arrived as [Msg, Msg]
  expect(first.subject).toBe('sent.shop')
  expect(first.reply).toBe('answers.1')
  expect(first.headers?.keys()).toEqual(['Nats-Msg-Id'])
  expect(first.headers?.values('Nats-Msg-Id')).toEqual([id])
  expect(Buffer.from(first.data).equals(data)).toBe(true)
  expect(next.string()).toBe('next')
})

test('a message that the server would refuse is not sent, and the connection stays', async () => {
  const max = nc.info?.max_payload ?? 0
  expect(max).toBeGreaterThan(0)
  expect(() => send(Buffer.alloc(max))).toThrow(/and the server takes \d+/)
  await nc.flush()
})

test('nothing is sent after the connection was closed', async () => {
  await nc.close()
  expect(() => send(Buffer.from('x'))).toThrow('The connection is closed')
})
