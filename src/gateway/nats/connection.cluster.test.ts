import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { NatsConnection } from '@nats-io/transport-node'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { findPort } from '../../test/findPort.ts'
import { connectNats } from './broker.ts'
import { watchConnection } from './connectionWatch.ts'

/** Long, for busy machines. */
const SOON = { timeout: 60_000, interval: 100 }

const REVOKED = 'authorization { user: other, password: loopback }'
const ALLOWED = 'authorization { user: gateway, password: loopback }'

/** A node without JetStream, which connections do not need. */
async function startNode() {
  const folder = mkdtempSync(join(tmpdir(), 'shoptrail-node-'))
  const file = join(folder, 'n.conf')
  const port = await findPort()
  const write = (users: string) => writeFileSync(file, `listen: 127.0.0.1:${port}\n${users}\n`)
  write(ALLOWED)
  const child = spawn('nats-server', ['-c', file], { stdio: 'ignore' })
  const options = { servers: [`127.0.0.1:${port}`], user: 'gateway', password: 'loopback' }
  await vi.waitFor(async () => (await connectNats(options)).close(), SOON)
  return {
    port,
    options,
    setUsers(users: string) {
      write(users)
      child.kill('SIGHUP')
    },
    end() {
      child.kill('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

let node: Awaited<ReturnType<typeof startNode>>
beforeAll(async () => {
  node = await startNode()
})
afterAll(() => node.end())

/** What a connection says. */
function listen(nc: NatsConnection) {
  const heard: string[] = []
  watchConnection(nc, {
    onLost: () => heard.push('lost'),
    onBack: () => heard.push('back'),
    onRefused: ({ message }) => heard.push(message),
  })
  return heard
}

async function countRefusals(nc: NatsConnection, count: () => void): Promise<void> {
  for await (const { type } of nc.status()) if (type === 'error') count()
}

test('a connection whose credentials are revoked is made again when they are put back', async () => {
  const nc = await connectNats(node.options)
  const heard = listen(nc)
  let attempts = 0
  countRefusals(nc, () => attempts++)
  const refusals = () => heard.filter((one) => one !== 'lost' && one !== 'back')

  node.setUsers(REVOKED)
  await expect.poll(() => heard, SOON).toContain('lost')
  await expect.poll(() => attempts, SOON).toBeGreaterThan(2)
  expect(nc.isClosed()).toBe(false)
  node.setUsers(ALLOWED)
  await expect.poll(() => heard, SOON).toContain('back')
  expect(refusals().length).toBeGreaterThan(0)
  expect(new Set(refusals()).size).toBe(refusals().length)
  await nc.close()
})

test('a connection whose node reads nothing is given up, however much was sent', async () => {
  const sockets: Socket[] = []
  const port = await findPort()
  const proxy = createServer((socket) => {
    const server = connect(node.port, '127.0.0.1')
    sockets.push(socket, server)
    for (const one of [socket, server]) one.on('error', () => {})
    socket.pipe(server).pipe(socket)
  })
  await new Promise<void>((resolve) => proxy.listen(port, '127.0.0.1', resolve))
  const nc = await connectNats({ ...node.options, servers: [`127.0.0.1:${port}`] })
  const heard = listen(nc)

  // Suspended: its kernel still has the connection.
  const [socket, server] = sockets as [Socket, Socket]
  socket.unpipe(server)
  socket.pause()
  for (let i = 0; i < 64; i++) nc.publish('some', new Uint8Array(1_000_000))
  await expect.poll(() => heard, SOON).toEqual(['lost', 'back'])
  await nc.close()
  for (const one of sockets) one.destroy()
  proxy.close()
})
