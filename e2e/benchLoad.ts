// A load generator in its own process, so that its CPU time is not the server's. It sends prepared bytes over raw
// sockets, since an HTTP client costs more than the servers it measures. It runs each Job that it receives as a message,
// and answers with a Load, or {fault} if a connection broke.
import { randomUUID } from 'node:crypto'
import { createConnection } from 'node:net'

export type Job = {
  readonly port: number
  /** The whole request. Each `ANY_ID` in it is replaced with a new id every time it is sent. */
  readonly text: string
  readonly connections: number
  readonly forMs: number
  /** Requests a second that are sent however fast the answers come. Default: the next one after each answer. */
  readonly offered?: number
}
export type Load = {
  readonly answers: number
  readonly seconds: number
  /** Of the time from when a request was due to its answer, ms. */
  readonly p50: number
  readonly p99: number
  /** Answers by status. */
  readonly statuses: readonly (readonly [status: number, answers: number])[]
  readonly cpuMicros: number
}

/** The place of an id in a request. */
export const ANY_ID = '00000000-0000-7000-8000-000000000000'

type Connection = {
  readonly send: (due: number) => void
  readonly end: () => void
}

if (process.send)
  process.on('message', (job: Job) => {
    run(job).then(
      (load) => process.send?.(load),
      (error) => process.send?.({ fault: `${error}` }),
    )
  })
process.on('disconnect', () => process.exit())

async function run(job: Job): Promise<Load> {
  const times: number[] = []
  const statuses = new Map<number, number>()
  const cpu = process.cpuUsage()
  const from = performance.now()
  await new Promise<void>((resolve, reject) => {
    const all: Connection[] = []
    const free: Connection[] = []
    const late: number[] = []
    let isOver = false
    let open = 0

    const answered = (connection: Connection, status: number, due: number) => {
      times.push(performance.now() - due)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      const next = job.offered === undefined ? performance.now() : late.shift()
      if (next !== undefined && !isOver) {
        connection.send(next)
        return
      }
      free.push(connection)
      open--
      if (isOver && open === 0) finish()
    }
    const finish = () => {
      for (const { end } of all) end()
      resolve()
    }
    for (let i = 0; i < job.connections; i++) all.push(connect(job, answered, reject))

    if (job.offered === undefined)
      for (const connection of all) {
        open++
        connection.send(from)
      }
    else {
      free.push(...all)
      offer(job.offered)
    }
    setTimeout(() => {
      isOver = true
      if (open === 0) finish()
    }, job.forMs)

    function offer(perSecond: number, sent = 0): void {
      if (isOver) return
      let count = sent
      for (; (count * 1_000) / perSecond < performance.now() - from; count++) {
        const due = from + (count * 1_000) / perSecond
        const connection = free.pop()
        if (!connection) late.push(due)
        else {
          open++
          connection.send(due)
        }
      }
      setImmediate(offer, perSecond, count)
    }
  })
  const { user, system } = process.cpuUsage(cpu)
  times.sort((a, b) => a - b)
  const quantile = (share: number) => times[Math.floor(times.length * share)] ?? Number.NaN
  return {
    answers: times.length,
    seconds: (performance.now() - from) / 1_000,
    p50: quantile(0.5),
    p99: quantile(0.99),
    statuses: [...statuses],
    cpuMicros: user + system,
  }
}

function connect(
  { port, text }: Job,
  onAnswer: (connection: Connection, status: number, due: number) => void,
  onError: (error: Error) => void,
): Connection {
  const bytes = Buffer.from(text)
  const places = placesOf(bytes)
  const socket = createConnection({ port, host: '127.0.0.1', noDelay: true })
  let due = 0
  let status = 0
  /** Bytes of the answer's body that have not arrived. */
  let left = 0
  /** The start of a head that has not arrived as a whole. */
  let begun = ''
  const connection: Connection = {
    send(at) {
      due = at
      for (const place of places) bytes.write(makeId(), place, 'latin1')
      socket.write(bytes)
    },
    end() {
      socket.removeAllListeners('close')
      socket.destroy()
    },
  }
  socket.on('data', (chunk) => {
    if (left > 0) left -= chunk.length
    else {
      const received = begun + chunk.toString('latin1')
      const end = received.indexOf('\r\n\r\n')
      begun = end < 0 ? received : ''
      if (end < 0) return
      status = Number(received.slice(9, 12))
      const length = /\r\ncontent-length: (\d+)/i.exec(received)?.[1]
      if (length === undefined && status !== 204 && status !== 304) {
        socket.destroy(new Error(`An answer without Content-Length: ${received}`))
        return
      }
      const body = status === 304 ? 0 : Number(length ?? 0)
      left = body - (received.length - end - 4)
    }
    if (left === 0) onAnswer(connection, status, due)
  })
  socket.on('error', onError)
  socket.on('close', () => onError(new Error('The server has closed a connection')))
  return connection
}

function placesOf(bytes: Buffer): number[] {
  const places: number[] = []
  for (let at = bytes.indexOf(ANY_ID); at >= 0; at = bytes.indexOf(ANY_ID, at + 1)) places.push(at)
  return places
}

/** An id as the script makes it: the time, then random digits. */
function makeId(): string {
  const time = Date.now().toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`
}
