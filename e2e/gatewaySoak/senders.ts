import { randomUUID } from 'node:crypto'
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../random.ts'

/** What the senders of a soak have seen. */
export type Seen = {
  /** The number of each acknowledged event within its device, by the event's id. */
  readonly acknowledged: Map<
    string,
    { readonly customer: string; readonly did: string; readonly n: number }
  >
  /** Answers, by status. 0 is no answer. */
  readonly statuses: Map<number, number>
  /** Answers that no sender should get, at most 20. */
  readonly faults: string[]
}

export type SenderOptions = {
  readonly customer: string
  readonly trackingKey: string
  /** Addresses of gateways over one folder; a sender takes one at random for each attempt. */
  readonly gateways: () => readonly string[]
  readonly random: Random
  readonly seen: Seen
  /** Mean time between two requests, ms. */
  readonly pauseMs: number
  readonly isOver: () => boolean
  /** Further statuses after which an event is repeated. Default none: 0, 429 and 503 are always among them. */
  readonly alsoRepeated?: readonly number[]
  /** Time after which an attempt is given up, ms. Default 15,000. */
  readonly deadlineMs?: number
  /** Called with the number of events that an answer has acknowledged. */
  readonly onAcknowledged?: (count: number) => void
}

type Event = { readonly id: string; readonly at: number; readonly payload: Record<string, unknown> }

/** Above this an attempt is given up, ms. Its outcome is unknown. */
const DEADLINE_MS = 15_000
const RETRY_MS = 200
const OPERATIONS: readonly ((n: number) => Record<string, unknown>)[] = [
  (n) => ({ event: 'search', search_term: `term ${n}` }),
  (n) => ({ event: 'view_product', product_id: `${n}` }),
  (n) => ({
    event: 'add_to_cart',
    product_id: n + 1,
    quantity: 1,
    variation: { id: '1', sku: 'S' },
  }),
  () => ({ event: 'initiate_checkout' }),
]

/**
 * One device. Sends events one by one and in batches, and repeats each with the same id until it is acknowledged, as
 * the script does.
 */
export async function runSender(options: SenderOptions): Promise<void> {
  const { random, seen, customer, trackingKey } = options
  const did = randomUUID()
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  let n = 0
  const makeEvent = (): Event => {
    const url = random.chance(0.2)
      ? 'https://shop.example/?utm_campaign=soak&utm_medium=email&utm_source=news'
      : 'https://shop.example/p'
    const text = {
      source: String(n),
      url,
      http_user_agent: 'Mozilla/5.0 (X11) Gecko/1 Firefox/153',
    }
    return {
      id: makeId(),
      at: Date.now(),
      payload: { did, ...random.pick(OPERATIONS)(n++), ...text },
    }
  }

  while (!options.isOver()) {
    const count = random.chance(0.3) ? 2 + random.below(18) : 1
    const events = Array.from({ length: count }, makeEvent)
    let left = events
    while (left.length > 0) {
      const known = await attempt(left)
      for (const { id, payload } of left)
        if (known.has(id)) seen.acknowledged.set(id, { customer, did, n: Number(payload.source) })
      if (known.size > 0) options.onAcknowledged?.(known.size)
      left = left.filter(({ id }) => !known.has(id))
      if (left.length > 0) await sleep(RETRY_MS * (0.5 + random.next()))
    }
    await sleep(options.pauseMs * 2 * random.next())
  }
  agent.destroy()

  /** @returns The acknowledged ids. */
  async function attempt(events: readonly Event[]): Promise<ReadonlySet<string>> {
    const [first] = events
    const base = random.pick(options.gateways())
    const isSingle = events.length === 1 && first
    const query = `k=${trackingKey}&v=soak`
    const { status, text } = isSingle
      ? await post(
          `${base}/t/r?${query}&id=${first.id}&at=${first.at}&sent=${Date.now()}`,
          first.payload,
        )
      : await post(`${base}/t/batch?${query}`, { sent: Date.now(), events })
    seen.statuses.set(status, (seen.statuses.get(status) ?? 0) + 1)
    if (status === 200) {
      const answer = JSON.parse(text)
      if (isSingle) return new Set([answer.id])
      const results = answer.results as { id: string; status: number }[]
      const bad = results.find((one) => one.status !== 200)
      if (bad) fault(`a verdict ${JSON.stringify(bad)}`)
      return new Set(results.flatMap((one) => (one.status === 200 ? [one.id] : [])))
    }
    if (![0, 429, 503, ...(options.alsoRepeated ?? [])].includes(status))
      fault(`${status} ${text.slice(0, 300)}`)
    return new Set()
  }

  function fault(what: string): void {
    if (seen.faults.length < 20) seen.faults.push(what)
  }

  function post(url: string, body: object): Promise<{ status: number; text: string }> {
    return new Promise((resolve) => {
      const lost = () => resolve({ status: 0, text: '' })
      const headers = { origin: 'http://localhost:1', 'content-type': 'text/plain' }
      const sent = request(
        url,
        { method: 'POST', headers, agent, timeout: options.deadlineMs ?? DEADLINE_MS },
        (answer) => {
          let text = ''
          answer.setEncoding('utf8')
          answer.on('data', (chunk) => {
            text += chunk
          })
          answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }))
          answer.on('error', lost)
        },
      )
      sent.on('timeout', () => sent.destroy())
      sent.on('error', lost)
      sent.end(JSON.stringify(body))
    })
  }
}

/** An id as the script makes it: the time, then random digits. */
function makeId(): string {
  const time = Date.now().toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`
}
