import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { CampaignRecord } from '../../contract/index.ts'
import { prepareGateway, send } from '../../test/gateway.ts'
import { completePayloads } from '../../test/payloads.ts'
import { openConnection } from '../../test/rawRequest.ts'
import type { Gateway } from '../index.ts'
import { STALL_MS, weigh, writeList } from './restStream.ts'

let prepared: Awaited<ReturnType<typeof prepareGateway>>
let gateway: Gateway
const COUNT = 12
const LIST = '/api/v1/get-latest-campaign?k=REST-KEY-00000001&u=c&limit=100'
const HEAD = `GET ${LIST} HTTP/1.1\r\nHost: a\r\n\r\n`

beforeAll(async () => {
  prepared = await prepareGateway()
  gateway = await prepared.start()
  gateway.customers.add({ customerId: 'c', restKey: 'REST-KEY-00000001' })
  gateway.customers.add({ customerId: 'other', restKey: 'REST-KEY-00000002' })
  gateway.customers.add({ customerId: 'small', restKey: 'REST-KEY-00000003' })
  for (let i = 0; i < COUNT; i++) await gateway.campaigns.create('c', makeRecord(`${i}`))
})
afterAll(() => prepared.end())

const makeRecord = (id: string): CampaignRecord => ({
  ...completePayloads.create,
  ...{ id, status: 'scheduled', created_at: '2026-01-01T00:00:00.000Z' },
  content: { html: '😀'.repeat(512_000) },
})

/** A reader that takes the beginning of the list and then nothing more. */
function openStuck(port: number, requests = HEAD): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.write(requests)
  return new Promise((resolve) =>
    socket.once('data', () => {
      socket.pause()
      resolve(socket)
    }),
  )
}

/** A list of `ids`, a group each unless `bytes` says less, with what was read and what was told. */
function write(
  ids: readonly string[],
  read: (id: string) => Promise<string | undefined>,
  bytes = 2 ** 20,
) {
  const seen = { read: [] as string[], hungUp: 0, ended: 0 }
  const stream = writeList({
    ...{ before: '{"data":[', after: '],"total":3}', items: ids.map((id) => ({ id, bytes })) },
    async read(group) {
      seen.read.push(group.join())
      const found = await Promise.all(group.map(read))
      return Buffer.from(
        found.flatMap((item) => (item === undefined ? [] : JSON.stringify(item))).join(),
      )
    },
    hangUp: () => seen.hungUp++,
    onEnd: () => seen.ended++,
  })
  return { seen, stream, reader: stream.getReader() }
}

const textOf = async ({ reader }: ReturnType<typeof write>) => {
  const pieces: Uint8Array[] = []
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return Buffer.concat(pieces).toString()
    pieces.push(value)
  }
}

test.each([
  [[], '{"data":[],"total":3}'],
  [['a'], '{"data":["a"],"total":3}'],
  [['a', 'b', 'c'], '{"data":["a","b","c"],"total":3}'],
  [['gone', 'b', 'gone'], '{"data":["b"],"total":3}'],
  [['gone'], '{"data":[],"total":3}'],
])('the items %j', async (ids, text) => {
  const written = write(ids, async (id) => (id === 'gone' ? undefined : id))
  expect(await textOf(written)).toBe(text)
  expect(written.seen).toMatchObject({ read: ids, ended: 1, hungUp: 0 })
})

test.each([
  [[], [], 0],
  [[1], ['0'], 1],
  [[500_000, 500_000, 48_576, 1], ['0,1,2', '3'], 1_048_576],
  [[2_000_000, 10, 10], ['0', '1,2'], 2_000_000],
  [[10, 2_000_000, 2_000_000, 10], ['0', '1', '2', '3'], 2_000_000],
])('items of %j bytes are read as %j', async (sizes, groups, weight) => {
  const items = sizes.map((bytes, i) => ({ id: `${i}`, bytes }))
  const read: string[] = []
  const stream = writeList({
    ...{ before: '[', items, after: ']', hangUp() {}, onEnd() {} },
    async read(ids) {
      read.push(ids.join())
      return Buffer.from(ids.join())
    },
  })
  expect(await new Response(stream).text()).toBe(`[${groups.join()}]`)
  expect(read).toEqual(groups)
  expect(weigh(items)).toBe(weight)
})

test('the next item is read when the one before was taken', async () => {
  const written = write(['a', 'b'], async (id) => id + '漢'.repeat(50_000))
  const { reader, seen } = written
  const takeOne = async () => (await reader.read()).value?.length ?? 0
  expect(await takeOne()).toBe('{"data":['.length)
  expect(seen.read).toEqual([])
  // 150,003 bytes, in pieces.
  expect([await takeOne(), await takeOne(), await takeOne()]).toEqual([65_536, 65_536, 18_931])
  expect(seen.read).toEqual(['a'])
  expect(await takeOne()).toBe(1)
  await takeOne()
  expect(seen.read).toEqual(['a', 'b'])
  await reader.cancel()
  expect(seen).toMatchObject({ ended: 1, hungUp: 0 })
})

test('an item that can not be read breaks the connection: what was sent is no whole answer', async () => {
  const written = write(['a', 'b'], async (id) => {
    if (id === 'b') throw new Error('The store is gone')
    return id
  })
  for (let i = 0; i < 2; i++) await written.reader.read()
  void written.reader.read()
  await expect.poll(() => written.seen).toMatchObject({ hungUp: 1, ended: 1 })
})

test('a reader that takes nothing for long is given up', async () => {
  vi.useFakeTimers()
  try {
    const { reader, seen } = write(['a', 'b', 'c'], async (id) => id)
    await reader.read()
    vi.advanceTimersByTime(STALL_MS - 1)
    await reader.read()
    vi.advanceTimersByTime(STALL_MS - 1)
    expect(seen.hungUp).toBe(0)
    vi.advanceTimersByTime(1)
    expect(seen.hungUp).toBe(1)
    await reader.cancel()
    expect(seen.ended).toBe(1)
    vi.advanceTimersByTime(STALL_MS)
    expect(seen.hungUp).toBe(1)
  } finally {
    vi.useRealTimers()
  }
})

test('a slow reader gets the whole list, and others are answered meanwhile', async () => {
  const slow = await openConnection(gateway.port)
  slow.socket.write(HEAD)
  await new Promise((resolve) => slow.socket.once('data', resolve))
  slow.socket.pause()
  expect(JSON.parse((await send(gateway.url, LIST)).text)).toHaveLength(COUNT)
  slow.socket.resume()
  const answer = await slow.request('GET /livez HTTP/1.1\nHost: a')
  const records = JSON.parse(answer.text) as CampaignRecord[]
  expect(records.map(({ id }) => id)).toEqual(
    Array.from({ length: COUNT }, (_, i) => `${COUNT - 1 - i}`),
  )
  expect(records.every(({ content }) => content.html.length === 1_024_000)).toBe(true)
  slow.socket.destroy()
})

test('readers that leave give their places back; lists that wait for their turn hold none', async () => {
  const warned = vi.fn()
  process.on('warning', warned)
  const statusOf = async (query = 'k=REST-KEY-00000001&u=c') =>
    (await send(gateway.url, `/api/v1/get-latest-campaign?${query}`)).status
  // What one customer may hold is ten campaigns of this size; all together twice as much.
  for (const pipelined of [1, 2, 10]) {
    const readers = await Promise.all(
      Array.from({ length: 10 }, () => openStuck(gateway.port, HEAD.repeat(pipelined))),
    )
    const refused = await send(gateway.url, LIST)
    expect(refused.status).toBe(429)
    expect(refused.headers['retry-after']).toBe('1')
    expect(JSON.parse(refused.text)).toEqual({ message: 'Too many large lists are being read' })
    expect(await statusOf('k=REST-KEY-00000002&u=other')).toBe(200)
    for (const socket of readers) socket.destroy()
    await expect.poll(() => statusOf()).toBe(200)
  }
  const many = await openStuck(gateway.port, HEAD.repeat(30))
  expect(await statusOf()).toBe(200)
  many.destroy()
  process.off('warning', warned)
  expect(warned).not.toHaveBeenCalled()
})

test('who is answered little is answered at once, however many ask and whoever reads slowly', async () => {
  for (let i = 0; i < 12; i++) await gateway.campaigns.create('small', makeRecord(`${i}`))
  await gateway.campaigns.create('small', { ...makeRecord('small'), content: { html: 'x' } })
  const target = '/api/v1/get-latest-campaign?k=REST-KEY-00000003&u=small'
  const large = HEAD.replace('k=REST-KEY-00000001&u=c', 'k=REST-KEY-00000003&u=small')
  const readers = await Promise.all(
    Array.from({ length: 10 }, () => openStuck(gateway.port, large)),
  )
  expect((await send(gateway.url, `${target}&limit=100`)).status).toBe(429)
  const answers = await Promise.all(Array.from({ length: 500 }, () => send(gateway.url, target)))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  for (const socket of readers) socket.destroy()
})

test('a list whose store goes away in the middle ends in a broken connection, quietly', async () => {
  const quiet = vi.spyOn(console, 'error')
  const losing = await prepared.start()
  const stuck = await openStuck(losing.port)
  await losing.log.close()
  let tail = ''
  stuck.on('data', (chunk) => {
    tail = (tail + chunk).slice(-5)
  })
  const broken = new Promise((resolve) => stuck.once('close', resolve))
  stuck.resume()
  await broken
  expect(tail).not.toBe('0\r\n\r\n')
  expect(await send(losing.url, LIST)).toMatchObject({ status: 503 })
  expect(quiet).not.toHaveBeenCalled()
  quiet.mockRestore()
})

test('a stop waits for a reader only as long as for a sender', async () => {
  const stopping = await prepared.start({ requestTimeoutMs: 500 })
  const stuck = await openStuck(stopping.port)
  await stopping.close()
  stuck.destroy()
})
