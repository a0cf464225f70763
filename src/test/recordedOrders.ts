import { readFileSync } from 'node:fs'
import { openConnection, type RawAnswer } from './rawRequest.ts'

/** A request as a plugin, a client or an add-on of a shop sends it. */
export type Recorded = {
  readonly operation: string
  readonly sender: string
  readonly method: string
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly expected: {
    /** The record of the log that the request becomes. */
    readonly event?: string
    readonly payload?: Readonly<Record<string, unknown>>
    /** Content-Type of the answer. Default: JSON. */
    readonly type?: string
    readonly body?: string
    /** Whether the answer is the list of addresses that are unsubscribed at the end of the other requests. */
    readonly list?: boolean
  }
}

export const recorded = JSON.parse(
  readFileSync(new URL('../gateway/fixtures/orders.json', import.meta.url), 'utf8'),
) as readonly Recorded[]

/** Sends a request over a connection of its own, byte for byte. */
export async function replay(
  port: number,
  { method, target, headers, body }: Omit<Recorded, 'expected'>,
): Promise<RawAnswer> {
  const connection = await openConnection(port)
  const lines = Object.entries({
    ...headers,
    ...(body && { 'Content-Length': Buffer.byteLength(body) }),
  }).map(([name, value]) => `${name}: ${value}`)
  const head = [`${method} ${target} HTTP/1.1`, `Host: 127.0.0.1:${port}`, ...lines].join('\n')
  try {
    return await connection.request(head, body)
  } finally {
    connection.socket.destroy()
  }
}
