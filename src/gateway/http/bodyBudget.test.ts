import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, test } from 'vitest'
import { createBodyBudget, createReserve } from './bodyBudget.ts'

test('one address gets a quarter, all together the whole', () => {
  const { lease } = createBodyBudget(100)
  const leases = ['a', 'b', 'c', 'd'].map(lease)
  expect(leases.map(({ grow }) => grow(25))).toEqual([true, true, true, true])
  expect(lease('a').grow(1)).toBe(false)
  expect(lease('e').grow(1)).toBe(false)
  leases[0]?.release()
  leases[0]?.release()
  expect(lease('e').grow(26)).toBe(false)
  expect(lease('a').grow(25)).toBe(true)
  expect(lease('e').grow(1)).toBe(false)
})

test('a body above the share, or above the whole budget, fits alone, also if it grows', () => {
  const { lease } = createBodyBudget(100)
  const alone = lease('a')
  expect([alone.grow(90), alone.grow(910)]).toEqual([true, true])
  expect(lease('b').grow(1)).toBe(false)
  expect(lease('a').grow(1)).toBe(false)
  alone.release()
  const next = lease('b')
  expect(next.grow(50)).toBe(true)
  expect(lease('b').grow(1)).toBe(false)
  expect(lease('c').grow(50)).toBe(true)
  // A refused lease holds no more than before.
  expect(next.grow(1)).toBe(false)
  next.release()
  expect(lease('d').grow(25)).toBe(true)
})

test('a released lease starts again from zero', () => {
  const { lease } = createBodyBudget(100)
  const one = lease('a')
  one.grow(80)
  one.release()
  expect(lease('b').grow(100)).toBe(true)
  expect(one.grow(1)).toBe(false)
})

test('nothing is reserved for an answer whose sender has gone', async () => {
  const budget = createBodyBudget(100_000)
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  const [, response] = (await once(server, 'request')) as [unknown, ServerResponse]
  socket.destroy()
  await once(response, 'close')
  const reserve = createReserve(budget, response, () => 'a', 0)
  expect(reserve(90_000)).toBe(true)
  expect(budget.lease('b').grow(100_000)).toBe(true)
  server.close()
})
