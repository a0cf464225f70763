import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { layOutGateway, send, startProcess } from '../test/gateway.ts'

/** Stops of real processes. */
let folder: string
beforeAll(() => {
  folder = layOutGateway()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let folders = 0
const nextData = () => join(folder, `stop-${++folders}`)
/** A drain that no test waits for. */
const LONG = { DRAIN_MS: '600000', STOP_TIMEOUT_MS: '3600000' }

const sendEvent = (url: string, id = randomUUID()) =>
  send(url, `/t/r?k=DEMOSHOP&id=${id}`, {
    method: 'POST',
    headers: { origin: 'http://localhost', connection: 'keep-alive' },
    body: JSON.stringify({
      event: 'search',
      search_term: 'mug',
      did: 'd-1',
      url: 'http://localhost/',
      http_user_agent: 'UA/1',
      remote_addr: '0.0.0.0',
    }),
  })

const untilUnready = async (url: string) => {
  for (;;) {
    const { status, text } = await send(url, '/readyz')
    if (status === 503) return JSON.parse(text).message
  }
}

const untilRefused = async (url: string) => {
  while (await send(url, '/livez').catch(() => undefined));
}

/** Sends the head of an event. The gateway waits for its body of 9 bytes. */
async function openBody(url: string): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.write(
    'POST /t/r?k=DEMOSHOP HTTP/1.1\r\nHost: a\r\nOrigin: http://localhost\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n',
  )
  expect(`${await once(socket, 'data')}`).toMatch(/^HTTP\/1.1 100/)
  return socket
}

async function openView(url: string): Promise<{ text: () => string; ended: Promise<unknown> }> {
  const [response] = (await once(get(`${url}/live/events`, { agent: false }), 'response')) as [
    IncomingMessage,
  ]
  let text = ''
  response.on('data', (chunk) => {
    text += chunk
  })
  return { text: () => text, ended: once(response, 'end') }
}

test('SIGTERM: unready at once, and everything is answered until the drain ends', async () => {
  const dataDir = nextData()
  const gateway = await startProcess(folder, { ...LONG, DATA_DIR: dataDir })
  const { url } = gateway
  const before = await sendEvent(url)
  expect([before.status, before.headers.connection]).toEqual([200, 'keep-alive'])
  const view = await openView(url)
  const exited = gateway.end('SIGTERM')
  expect(await untilUnready(url)).toBe('stopping')
  // The stream ends with the time after which the browser connects again, and its id is kept.
  await view.ended
  expect(view.text()).toMatch(/\n\nretry: [123]\d{3}\n\n$/)
  const again = await openView(url)
  await again.ended
  expect(again.text()).toMatch(
    /^retry: 1000\nevent: start\nid: \d+\n(?:.|\n)*\n\nretry: [123]\d{3}\n\n$/,
  )
  const during = await sendEvent(url)
  expect([during.status, during.headers.connection]).toEqual([200, 'close'])
  expect((await send(url, '/livez')).status).toBe(200)
  expect(gateway.process.exitCode).toBeNull()
  // The second signal ends the drain.
  gateway.process.kill('SIGTERM')
  expect(await exited).toBe(0)
  const events = new Database(join(dataDir, 'events.db'), { readonly: true })
  expect(events.prepare('SELECT count(*) FROM events').pluck().get()).toBe(2)
  events.close()
})

test('Ctrl-C needs no drain', async () => {
  const gateway = await startProcess(folder, { ...LONG, DATA_DIR: nextData() })
  expect(await gateway.end('SIGINT')).toBe(0)
})

test('a sender that stops in the middle of its body does not hold up the end', async () => {
  const gateway = await startProcess(folder, {
    DATA_DIR: nextData(),
    STOP_TIMEOUT_MS: '3100',
  })
  const slow = await openBody(gateway.url)
  slow.on('error', () => {})
  expect(await gateway.end('SIGTERM')).toBe(0)
})

test('a stop in a short time still answers an open request', async () => {
  const gateway = await startProcess(folder, { DATA_DIR: nextData(), STOP_TIMEOUT_MS: '3000' })
  const open = await openBody(gateway.url)
  const exited = gateway.end('SIGTERM')
  await untilRefused(gateway.url)
  let answer = ''
  open.on('data', (chunk) => {
    answer += chunk
  })
  open.write('{"a": 1}\n')
  await once(open, 'close')
  expect(answer).toMatch(/^HTTP\/1.1 422/)
  expect(await exited).toBe(0)
})

test('a stop that waits too long for the disk is killed, and says what was open', async () => {
  const dataDir = nextData()
  const gateway = await startProcess(folder, { DATA_DIR: dataDir, STOP_TIMEOUT_MS: '1000' })
  expect((await sendEvent(gateway.url)).status).toBe(200)
  // No other connection can commit meanwhile.
  const other = new Database(join(dataDir, 'events.db'))
  other.exec('BEGIN IMMEDIATE')
  const waiting = sendEvent(gateway.url).catch((error: NodeJS.ErrnoException) => error.code)
  expect((await send(gateway.url, '/livez')).status).toBe(200)
  // Its last line has arrived too.
  const closed = once(gateway.process, 'close')
  await gateway.end('SIGTERM')
  await closed
  expect([gateway.process.exitCode, gateway.process.signalCode]).toEqual([null, 'SIGKILL'])
  const line = gateway
    .output()
    .split('\n')
    .find((text) => text.includes('"level":60'))
  expect(JSON.parse(line ?? '{}')).toMatchObject({
    msg: 'The stop took too long',
    stage: 'accepted events',
    connections: 0,
    queued: 1,
  })
  expect(await waiting).not.toHaveProperty('status', 200)
  other.close()
})
