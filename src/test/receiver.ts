import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

/** A request that a receiver got, with its whole body. */
export type Received = {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** A destination of events: a real server, which answers as a test wants. */
export type Receiver = {
  /** `http://127.0.0.1:PORT`. */
  readonly url: string
  /** In order of arrival. */
  readonly received: Received[]
  /** Sets how the next requests are answered. */
  answer(handle: Handle): void
  /** Resolves when `count` requests have arrived. */
  wait(count: number): Promise<void>
  close(): Promise<void>
}

/** @param socket To break the connection. */
export type Handle = (request: Received, response: ServerResponse, socket: Socket) => void

/** Answers with a status, and perhaps headers and a body. */
export const status =
  (code: number, headers: Readonly<Record<string, string>> = {}, body = ''): Handle =>
  (_request, response) =>
    void response.writeHead(code, headers).end(body)

export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = []
  const waiting = new Set<() => void>()
  let handle: Handle = status(204)
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const got = {
        path: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
      }
      received.push(got)
      for (const check of waiting) check()
      handle(got, response, request.socket)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    answer(next) {
      handle = next
    },
    wait: (count) =>
      new Promise((resolve) => {
        const check = () => {
          if (received.length < count) return
          waiting.delete(check)
          resolve()
        }
        waiting.add(check)
        check()
      }),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}
