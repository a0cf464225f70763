import { createServer, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { limitConnections, readMaxConnections } from './connections.ts'

const MAX = 8
const opened: Socket[] = []
let server: Server
afterEach(() => {
  for (const socket of opened.splice(0)) socket.destroy()
  server.closeAllConnections()
  server.close()
})

async function listen() {
  const refused: string[] = []
  const waiting: ServerResponse[] = []
  server = createServer((_, response) => void waiting.push(response))
  limitConnections(server, MAX, (how) => refused.push(how))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const open = (bytes = '') => {
    const socket = connect(port, '127.0.0.1')
    let said = ''
    socket.on('data', (chunk) => {
      said += chunk
    })
    socket.on('error', () => {})
    socket.write(bytes)
    opened.push(socket)
    return { socket, isOpen: () => !socket.closed, said: () => said }
  }
  const count = () =>
    new Promise<number>((resolve) => server.getConnections((_, number) => resolve(number)))
  return { open, count, refused, waiting }
}

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'

test.each([
  ['that say nothing', ''],
  ['with half a head', 'GET / HTTP/1.1\r\nHost: a\r\n'],
])('connections %s make room for those that ask', async (_, bytes) => {
  const { open, count, refused, waiting } = await listen()
  const idle: ReturnType<typeof open>[] = []
  for (let i = 0; i < MAX - 1; i++) {
    idle.push(open(bytes))
    await expect.poll(count).toBe(i + 1)
  }
  const visitor = open(GET)
  await expect.poll(() => waiting.length).toBe(1)
  waiting[0]?.end('hello')
  await expect.poll(visitor.said).toContain('hello')
  expect(refused).toEqual(['evicted'])
  // The oldest goes first.
  await expect.poll(() => idle.map(({ isOpen }) => isOpen()).indexOf(false)).toBe(0)
  expect(idle.filter(({ isOpen }) => isOpen())).toHaveLength(MAX - 2)
})

test('those kept alive after an answer make room, those with a request in progress do not', async () => {
  const { open, refused, waiting } = await listen()
  const kept = open(GET)
  await expect.poll(() => waiting.length).toBe(1)
  waiting[0]?.end('done')
  await expect.poll(kept.said).toContain('done')
  for (let i = 1; i < MAX; i++) {
    open(GET)
    await expect.poll(() => waiting.length).toBe(i + 1)
  }
  await expect.poll(kept.isOpen).toBe(false)
  // One place is left, and then there is none.
  open(GET)
  await expect.poll(() => waiting.length).toBe(MAX + 1)
  const late = open(GET)
  await expect.poll(late.isOpen).toBe(false)
  expect(late.said()).toBe('')
  expect(refused).toEqual(['evicted', 'refused'])
  // One that becomes idle while there is no room is closed for the next.
  waiting[1]?.end('first')
  await expect.poll(() => refused).toEqual(['evicted', 'refused', 'evicted'])
  const next = open(GET)
  await expect.poll(() => waiting.length).toBe(MAX + 2)
  waiting.at(-1)?.end('next')
  await expect.poll(next.said).toContain('next')
})

test('the bound fits the files that the process may open', () => {
  expect(readMaxConnections(20)).toBe(20)
  expect(readMaxConnections(2)).toBe(16)
  expect(readMaxConnections()).toBeLessThanOrEqual(4_096)
})
