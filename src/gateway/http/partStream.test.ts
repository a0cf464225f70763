import { EventEmitter, once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { expect, test, vi } from 'vitest'
import { openConnection } from '../../test/rawRequest.ts'
import { createAddresses } from './address.ts'
import { createBodyBudget } from './bodyBudget.ts'
import { createHttpServer } from './httpServer.ts'
import { streamParts } from './partStream.ts'

test.each([1, 2, 5])(
  'an answer whose part %i can not be made breaks off, and nothing else prints it',
  async (good) => {
    const printed = vi.spyOn(console, 'error')
    const failed = new Error('The disk has failed')
    const reported: unknown[] = []
    let made = 0
    let ends = 0
    const server = createHttpServer({
      fetch: (_, env) =>
        new Response(
          streamParts({
            async next() {
              // Later than the library waits for a body that is there at once.
              await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
              if (made === good) throw failed
              return Buffer.from(`part ${++made},`)
            },
            onEnd: () => ends++,
            breakOff(error) {
              reported.push(error)
              env.breakOff()
            },
          }),
        ),
      addresses: createAddresses(),
      bodies: createBodyBudget(),
      maxConnections: 10,
      onClosed: () => {},
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { socket } = await openConnection((server.address() as AddressInfo).port)
    let text = ''
    socket.on('data', (bytes) => {
      text += bytes
    })
    const closed = new Promise((resolve) => socket.once('close', resolve))
    socket.on('error', () => {})
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    await closed
    // The last chunk of a whole answer has no bytes.
    expect(text).not.toContain('\r\n0\r\n')
    expect(text).not.toContain('disk')
    expect(reported).toEqual([failed])
    expect(ends).toBeGreaterThan(0)
    expect(printed).not.toHaveBeenCalled()
    printed.mockRestore()
    await new Promise((resolve) => server.close(resolve))
  },
)

test.each([
  ['is made', async () => new Uint8Array(1)],
  ['is the last one', async () => undefined],
  ['can no longer be made', () => Promise.reject(new Error('It has ended'))],
])('a part that %s after the reader has gone is no fault', async (_, make) => {
  const reported: unknown[] = []
  let ends = 0
  const events = new EventEmitter()
  const [begun, gone] = [once(events, 'begun'), once(events, 'gone')]
  const stream = streamParts({
    async next() {
      events.emit('begun')
      await gone
      return make()
    },
    onEnd: () => ends++,
    breakOff: (error) => reported.push(error),
  })
  const reader = stream.getReader()
  const read = reader.read()
  await begun
  await reader.cancel()
  events.emit('gone')
  expect(await read).toEqual({ done: true, value: undefined })
  await new Promise(setImmediate)
  expect(reported).toEqual([])
  expect(ends).toBe(1)
})
