import { createHmac, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Random } from '../random.ts'

/** The receiver of a webhook, which fails in many ways. */
export type Receiver = {
  readonly url: string
  /** How often each event has arrived in a request that was answered 200, by its id. */
  readonly times: ReadonlyMap<string, number>
  /** Devices whose events have come for the first time in another order than they were sent, and wrong signatures. */
  readonly faults: readonly string[]
  /** Takes no connections, and ends those that are open. */
  down(): Promise<void>
  up(): Promise<void>
  /** Whether it reads requests and does not answer. Connections that hang end when it stops. */
  hang(isHanging: boolean): void
  /** Fails no more. */
  heal(): void
}

type Received = {
  readonly events: readonly {
    readonly id: string
    readonly did: string
    readonly payload: { readonly source: string }
  }[]
}

/** Share of the requests that fail, while it fails. */
const FAILING = 0.15
/** A message is too old after this, s, as Standard Webhooks has it. */
const TOLERANCE_SECONDS = 300

/**
 * @param secret As in the destination's settings.
 * @param isDown Whether it starts without taking connections.
 */
export async function startReceiver(
  secret: string,
  random: Random,
  isDown = false,
): Promise<Receiver> {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const times = new Map<string, number>()
  const last = new Map<string, number>()
  const faults: string[] = []
  const hanging = new Set<Socket>()
  const sockets = new Set<Socket>()
  // While it is down, its port is free, and another test on this machine may have used it.
  const path = `/${randomUUID()}`
  let isFailing = true
  let isHanging = false
  let server: Server | undefined

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    if (request.url !== path) return void request.socket.destroy()
    const body = Buffer.concat(chunks)
    if (isHanging) return void hanging.add(request.socket)
    const dice = isFailing ? random.next() / FAILING : 1
    if (dice < 0.3) return void response.writeHead(503, { 'retry-after': '1' }).end('{}')
    if (dice < 0.5) return void response.writeHead(500).end('<h1>Oops</h1>')
    if (dice < 0.7) return void request.socket.destroy()
    if (!isSigned(request, body))
      fault(`A signature is wrong: ${JSON.stringify(request.headers)} ${body.subarray(0, 300)}`)
    take(JSON.parse(body.toString()))
    // The events have arrived, and the sender does not learn it.
    if (dice < 1) return void request.socket.destroy()
    response.writeHead(200).end()
  }

  function isSigned({ headers }: IncomingMessage, body: Buffer): boolean {
    const id = headers['webhook-id']
    const at = Number(headers['webhook-timestamp'])
    const hash = createHmac('sha256', key).update(`${id}.${at}.`).update(body).digest('base64')
    const isRecent = Math.abs(Date.now() / 1000 - at) < TOLERANCE_SECONDS
    return isRecent && headers['webhook-signature'] === `v1,${hash}`
  }

  function take({ events }: Received): void {
    for (const { id, did, payload } of events) {
      const before = times.get(id) ?? 0
      times.set(id, before + 1)
      if (before > 0) continue
      const n = Number(payload.source)
      if (n <= (last.get(did) ?? -1)) fault(`Event ${n} of ${did} came after ${last.get(did)}`)
      last.set(did, n)
    }
  }

  function fault(text: string): void {
    if (faults.length < 20) faults.push(text)
  }

  async function listen(port: number): Promise<number> {
    const started = createServer((request, response) => {
      // The sender may end the connection at any time.
      handle(request, response).catch(() => response.destroy())
    })
    started.on('connection', (socket) => {
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
    })
    await new Promise<void>((resolve) => started.listen(port, '127.0.0.1', resolve))
    server = started
    return (started.address() as AddressInfo).port
  }

  async function down(): Promise<void> {
    const ended = server
    server = undefined
    for (const socket of sockets) socket.destroy()
    await new Promise<unknown>((resolve) => (ended ? ended.close(resolve) : resolve(undefined)))
  }

  const port = await listen(0)
  if (isDown) await down()
  return {
    url: `http://127.0.0.1:${port}${path}`,
    times,
    faults,
    down,
    async up() {
      if (!server) await listen(port)
    },
    hang(wanted) {
      isHanging = wanted
      if (wanted) return
      for (const socket of hanging) socket.destroy()
      hanging.clear()
    },
    heal() {
      isFailing = false
    },
  }
}
