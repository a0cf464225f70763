import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { type BodyBudget, createBodyBudget, createReserve } from './bodyBudget.ts'
import { createReadBody } from './readBody.ts'

/** A request whose body the test sends. */
function begin(headers: Record<string, string>, budget: BodyBudget, maxBytes = 2 ** 20) {
  const incoming = Object.assign(new PassThrough(), { headers })
  const response = new EventEmitter() as ServerResponse
  const reserve = createReserve(budget, response, () => 'a', 0)
  const read = createReadBody(incoming as never, reserve)(maxBytes)
  return { incoming, read, close: () => response.emit('close') }
}
const CHUNKED = { 'transfer-encoding': 'chunked' }
const declare = (length: number) => ({ 'content-length': `${length}` })
/** Whether nothing is held: the address gets all of its share. */
const isFree = (budget: BodyBudget) => {
  const first = budget.lease('a')
  const second = budget.lease('a')
  const isRoom = first.grow(1) && second.grow(24_999)
  first.release()
  second.release()
  return isRoom
}

test.each([
  ['one piece', 100_000, 100_000],
  ['pieces', 100_000, 7_001],
  ['bytes', 1_000, 1],
  ['small pieces', 60_000, 16],
  ['nothing', 0, 1],
])('a body in %s is read as it is, of known and of unknown length', async (_, length, size) => {
  const body = Buffer.from(Array.from({ length }, (_, i) => i % 251))
  for (const headers of [declare(length), CHUNKED]) {
    const { incoming, read } = begin(headers, createBodyBudget())
    for (let at = 0; at < length; at += size) incoming.write(body.subarray(at, at + size))
    incoming.end()
    const received = (await read) as Buffer
    expect(received.equals(body)).toBe(true)
    // Not a slice of a larger buffer, apart from the spare room of a body of unknown length.
    expect(received.buffer.byteLength).toBeLessThanOrEqual(Math.max(2 * length, 8_192))
  }
})

test('a body of exactly the limit is read, one of a byte more is not, and its rest is discarded', async () => {
  for (const headers of [declare(50_000), CHUNKED]) {
    const { incoming, read } = begin(headers, createBodyBudget(), 50_000)
    incoming.end(Buffer.alloc(50_000))
    expect(await read).toHaveLength(50_000)
  }
  expect(await begin(declare(50_001), createBodyBudget(), 50_000).read).toBeUndefined()
  const { incoming, read } = begin(CHUNKED, createBodyBudget(), 50_000)
  incoming.write(Buffer.alloc(50_001))
  expect(await read).toBeUndefined()
  for (let i = 0; i < 20; i++) incoming.write(Buffer.alloc(50_000))
  await new Promise((resolve) => incoming.end(resolve))
  await expect.poll(() => incoming.readableEnded).toBe(true)
})

test('a body of known length is reserved before it is read, until the answer is sent', async () => {
  const budget = createBodyBudget(100_000)
  const { incoming, read, close } = begin(declare(20_000), budget)
  expect(isFree(budget)).toBe(false)
  const refused = begin(declare(20_000), budget)
  await expect(refused.read).rejects.toMatchObject({ name: 'Unavailable', retryAfterSeconds: 2 })
  expect(refused.incoming.readableFlowing).toBe(null)
  incoming.end(Buffer.alloc(20_000))
  await read
  expect(isFree(budget)).toBe(false)
  close()
  expect(isFree(budget)).toBe(true)
})

test('a body of unknown length reserves memory as it grows', async () => {
  const budget = createBodyBudget(100_000)
  const first = begin(CHUNKED, budget)
  first.incoming.write(Buffer.alloc(16_000))
  await new Promise(setImmediate)
  expect(isFree(budget)).toBe(true)
  first.incoming.write(Buffer.alloc(4_000))
  await expect.poll(() => isFree(budget)).toBe(false)
  const second = begin(CHUNKED, budget)
  second.incoming.write(Buffer.alloc(30_000))
  await expect(second.read).rejects.toMatchObject({ name: 'Unavailable' })
  second.close()
  first.incoming.end()
  expect(await first.read).toHaveLength(20_000)
  first.close()
  expect(isFree(budget)).toBe(true)
})

test('small bodies need no reservation', async () => {
  const budget = createBodyBudget(100_000)
  const large = begin(declare(900_000), budget)
  for (const headers of [declare(16_384), CHUNKED]) {
    const { incoming, read } = begin(headers, budget)
    incoming.end(Buffer.alloc(16_384))
    expect(await read).toHaveLength(16_384)
  }
  large.incoming.destroy()
  await expect(large.read).rejects.toThrow('The request was aborted')
})

test.each([
  ['ends', undefined, 'The request was aborted'],
  ['breaks', new Error('aborted'), 'aborted'],
])('a connection that %s in the body releases its memory', async (_, error, message) => {
  const budget = createBodyBudget(100_000)
  const { incoming, read, close } = begin(declare(20_000), budget)
  incoming.write(Buffer.alloc(10_000))
  incoming.destroy(error)
  await expect(read).rejects.toThrow(message)
  close()
  expect(isFree(budget)).toBe(true)
})

test('a body of very many very small chunks ends the connection', async () => {
  for (const headers of [declare(20_000), CHUNKED]) {
    const { incoming, read } = begin(headers, createBodyBudget())
    const refused = expect(read).rejects.toThrow('The request was aborted')
    for (let i = 0; i < 1_001; i++) incoming.write('x')
    await refused
    expect(incoming.destroyed).toBe(true)
  }
})

test('a connection that has ended before reserves nothing', async () => {
  const budget = createBodyBudget(100_000)
  const incoming = Object.assign(new PassThrough(), { headers: declare(20_000) })
  incoming.destroy()
  const response = new EventEmitter() as ServerResponse
  const read = createReadBody(
    incoming as never,
    createReserve(budget, response, () => 'a', 0),
  )
  await expect(read(2 ** 20)).rejects.toThrow('The request was aborted')
  expect(isFree(budget)).toBe(true)
})

test('the rest of a refused body takes no memory, also if there is room again', async () => {
  const budget = createBodyBudget(100_000)
  const other = budget.lease('b')
  other.grow(100_000)
  const { incoming, read } = begin(CHUNKED, budget)
  incoming.write(Buffer.alloc(20_000))
  await expect(read).rejects.toMatchObject({ name: 'Unavailable' })
  other.release()
  await new Promise((resolve) => incoming.write(Buffer.alloc(30_000), resolve))
  await new Promise(setImmediate)
  expect(isFree(budget)).toBe(true)
})
