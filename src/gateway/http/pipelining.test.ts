import { createServer, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { limitPipelining } from './pipelining.ts'

let server: Server
afterEach(() => {
  server.closeAllConnections()
  server.close()
})

async function listen(
  answer: (response: ServerResponse, url: string) => void,
  maxWaiting?: number,
) {
  server = createServer(
    limitPipelining((request, response) => answer(response, request.url as string), maxWaiting),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

const pipeline = (count: number, from = 0) =>
  Array.from({ length: count }, (_, i) => `GET /${from + i} HTTP/1.1\r\nHost: a\r\n\r\n`).join('')

test('5,000 requests at once are answered, each once and in order', async () => {
  const port = await listen((response, url) => setImmediate(() => response.end(`<${url}>`)))
  const socket = connect(port, '127.0.0.1')
  let said = ''
  socket.on('data', (chunk) => {
    said += chunk
  })
  socket.write(pipeline(5_000))
  await expect.poll(() => said.includes('</4999>'), { timeout: 20_000 }).toBe(true)
  const order = [...said.matchAll(/<\/(\d+)>/g)].map(([, number]) => Number(number))
  expect(order).toEqual(Array.from({ length: 5_000 }, (_, i) => i))
  socket.destroy()
})

test('bodies among them arrive whole', async () => {
  const bodies: number[] = []
  server = createServer(
    limitPipelining((request, response) => {
      let bytes = 0
      request.on('data', ({ length }) => {
        bytes += length
      })
      request.on('end', () => {
        bodies.push(bytes)
        setImmediate(() => response.end('.'))
      })
    }),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.resume()
  const body = 'x'.repeat(30_000)
  const one = `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  socket.write(one.repeat(50))
  await expect.poll(() => bodies.length, { timeout: 20_000 }).toBe(50)
  expect(new Set(bodies)).toEqual(new Set([30_000]))
  socket.destroy()
})

test('eight are in progress, and the socket is not read meanwhile', async () => {
  const waiting: ServerResponse[] = []
  const port = await listen((response) => void waiting.push(response))
  const socket = connect(port, '127.0.0.1')
  // More than the buffers of both ends take.
  socket.write(pipeline(1_000_000))
  await expect.poll(() => waiting.length).toBe(8)
  await expect.poll(() => socket.writableLength).toBeGreaterThan(0)
  const unsent = socket.writableLength
  for (const response of waiting.splice(0, 2)) response.end('x')
  await expect.poll(() => waiting.length).toBe(8)
  expect(socket.writableLength).toBeLessThanOrEqual(unsent)
  expect(unsent).toBeGreaterThan(2 ** 20)
  socket.destroy()
  // What waited is never begun. (A socket that is not read notices its end by the server's time limit.)
  server.closeAllConnections()
  const count = () =>
    new Promise((resolve) => server.getConnections((_, number) => resolve(number)))
  await expect.poll(count).toBe(0)
  expect(waiting).toHaveLength(8)
})

test('where too many wait in all, the connection that brings more is closed', async () => {
  const port = await listen((response) => void setImmediate(() => response.end('x')), 20)
  const closed = (requests: number) =>
    new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1')
      let said = ''
      socket.on('error', () => {})
      socket.on('close', () => resolve(true))
      socket.on('data', (chunk) => {
        said += chunk
        if (said.split('HTTP/1.1 200').length > requests) {
          resolve(false)
          socket.destroy()
        }
      })
      socket.write(pipeline(requests))
    })
  expect(await closed(5_000)).toBe(true)
  // Its places are given back.
  for (let i = 0; i < 5; i++) expect(await closed(25)).toBe(false)
})
