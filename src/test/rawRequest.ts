import { connect, type Socket } from 'node:net'
import { gunzipSync } from 'node:zlib'

/** An answer as it was read from a socket. */
export type RawAnswer = {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly text: string
  /** Whether `100 Continue` was received before it. */
  readonly continued: boolean
}

/** A connection for requests that Node's own client would not send as they are. */
export type RawConnection = {
  readonly socket: Socket
  /**
   * Sends a head and a body. If the head has `Expect: 100-continue`, the body is sent only after `100 Continue`, and
   * not at all if another answer is received first. Rejects if the connection ends before the answer is complete.
   */
  request(head: string, body?: Buffer | string): Promise<RawAnswer>
}

const HEAD_END = '\r\n\r\n'

export async function openConnection(port: number): Promise<RawConnection> {
  const socket = connect(port, '127.0.0.1')
  const chunks: Buffer[] = []
  let isOver = false
  let wake = () => {}
  const notify = () => wake()
  socket.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    notify()
  })
  socket.on('close', () => {
    isOver = true
    notify()
  })
  socket.on('error', notify)

  const more = (): Promise<void> => {
    if (isOver) throw new Error('The connection ended')
    return new Promise((resolve) => {
      wake = resolve
    })
  }

  async function take(count: number): Promise<Buffer> {
    while (chunks.reduce((sum, { length }) => sum + length, 0) < count) await more()
    const received = Buffer.concat(chunks)
    chunks.splice(0, chunks.length, received.subarray(count))
    return received.subarray(0, count)
  }

  async function takeUntil(end: string): Promise<string> {
    for (;;) {
      const received = Buffer.concat(chunks)
      chunks.splice(0, chunks.length, received)
      const at = received.indexOf(end)
      if (at >= 0) return (await take(at + end.length)).toString('utf8', 0, at)
      await more()
    }
  }

  async function takeHead() {
    const [line = '', ...lines] = (await takeUntil(HEAD_END)).split('\r\n')
    const headers = new Map(
      lines.map((header) => {
        const colon = header.indexOf(':')
        return [header.slice(0, colon).toLowerCase(), header.slice(colon + 1).trim()] as const
      }),
    )
    return { status: Number(line.split(' ')[1]), headers }
  }

  async function takeBody(headers: ReadonlyMap<string, string>): Promise<Buffer> {
    if (headers.get('transfer-encoding') !== 'chunked')
      return take(Number(headers.get('content-length') ?? 0))
    const pieces: Buffer[] = []
    for (;;) {
      const size = Number.parseInt(await takeUntil('\r\n'), 16)
      pieces.push(await take(size))
      await takeUntil('\r\n')
      if (size === 0) return Buffer.concat(pieces)
    }
  }

  return {
    socket,
    async request(head, body = '') {
      const waits = /^expect: *100-continue/im.test(head)
      socket.write(head.replaceAll('\n', '\r\n') + HEAD_END)
      if (!waits) socket.write(body)
      let { status, headers } = await takeHead()
      const continued = status === 100
      if (continued) {
        socket.write(body)
        ;({ status, headers } = await takeHead())
      }
      const bytes = await takeBody(headers)
      const isZipped = headers.get('content-encoding') === 'gzip'
      return {
        status,
        headers,
        text: (isZipped ? gunzipSync(bytes) : bytes).toString(),
        continued,
      }
    },
  }
}
