import { Agent, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A balancer in front of gateways: it asks each for /readyz, and sends requests only to those that are ready. */
export type Balancer = {
  readonly url: string
  /** The requests that each gateway has answered, in the order of `gateways`. */
  readonly answered: readonly number[]
  /** Resolves when the balancer has seen that a gateway is ready. */
  untilReady(index: number): Promise<void>
  close(): Promise<void>
}

/** Time between two checks of a gateway, ms. */
const CHECK_MS = 50

/** @param gateways Addresses. A request whose gateway breaks off is answered 502, and is not repeated. */
export async function startBalancer(gateways: readonly string[]): Promise<Balancer> {
  const agent = new Agent({ keepAlive: true })
  const isReady = gateways.map(() => false)
  const answered = gateways.map(() => 0)
  const waiting = new Set<() => void>()
  let turn = 0

  async function check(index: number): Promise<void> {
    isReady[index] = await new Promise<boolean>((resolve) => {
      const asked = request(`${gateways[index]}/readyz`, { agent: false }, (answer) => {
        answer.resume()
        resolve(answer.statusCode === 200)
      })
      asked.on('error', () => resolve(false))
      asked.end()
    })
    for (const wake of waiting) wake()
  }
  const timer = setInterval(() => gateways.forEach((_, index) => void check(index)), CHECK_MS)

  const server = createServer((incoming, outgoing) => {
    const ready = gateways.flatMap((_, index) => (isReady[index] ? [index] : []))
    const index = ready[turn++ % ready.length]
    if (index === undefined) {
      outgoing.writeHead(503).end()
      return
    }
    const { method, headers, url } = incoming
    // Hop by hop, RFC 9110, 7.6.1.
    const { connection: _, ...forwarded } = headers
    const sent = request(
      `${gateways[index]}${url}`,
      { method, headers: forwarded, agent },
      (answer) => {
        answered[index] = (answered[index] ?? 0) + 1
        const { connection: _, ...rest } = answer.headers
        outgoing.writeHead(answer.statusCode ?? 502, rest)
        answer.pipe(outgoing)
      },
    )
    sent.on('error', () => {
      if (outgoing.headersSent) outgoing.destroy()
      else outgoing.writeHead(502).end()
    })
    incoming.pipe(sent)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answered,
    async untilReady(index) {
      while (!isReady[index])
        await new Promise<void>((resolve) => {
          const wake = () => {
            waiting.delete(wake)
            resolve()
          }
          waiting.add(wake)
        })
    },
    async close() {
      clearInterval(timer)
      agent.destroy()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
