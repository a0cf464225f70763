import { randomUUID } from 'node:crypto'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { type Balancer, startBalancer } from './balancer.ts'
import { findPort } from './findPort.ts'
import { type GatewayProcess, startProcess } from './gateway.ts'

const SENDERS = 8
/** Events between two steps of a restart. */
const EVENTS = 100

export type RollingRestart = {
  /** The answers that were not 200; 0 for none. */
  readonly failed: readonly number[]
  /** Ids of the events that were acknowledged, as hex digits. */
  readonly acknowledged: readonly string[]
  /** The ids in the log. */
  readonly stored: readonly string[]
  /** The requests that each of the two gateways has answered. */
  readonly answered: readonly number[]
}

/**
 * Restarts two gateways over one folder in turn, behind a balancer and under load.
 *
 * @param folder The folder that `layOutGateway` has returned.
 */
export async function restartInTurn(
  folder: string,
  {
    drainMs,
    signal,
    balance = startBalancer,
  }: {
    readonly drainMs: number
    readonly signal: NodeJS.Signals
    /** Starts a balancer in front of these addresses. Default: one that asks /readyz every 50 ms. */
    readonly balance?: (gateways: readonly string[]) => Promise<Balancer>
  },
): Promise<RollingRestart> {
  const DATA_DIR = join(folder, `rolling-${drainMs}-${signal}`)
  const ports = [await findPort(), await findPort()]
  const start = (port: number): Promise<GatewayProcess> =>
    startProcess(folder, {
      PORT: `${port}`,
      DATA_DIR,
      DRAIN_MS: `${drainMs}`,
      ADDRESS_EVENTS_PER_SECOND: '1000000',
      ADDRESS_EVENTS_BURST: '1000000',
    })
  const gateways: GatewayProcess[] = []
  for (const port of ports) gateways.push(await start(port))
  const balancer = await balance(ports.map((port) => `http://127.0.0.1:${port}`))
  await balancer.untilReady(0)
  await balancer.untilReady(1)
  const senders = startSenders(balancer.url)
  for (const [index, port] of ports.entries()) {
    await senders.untilMore(EVENTS)
    await (gateways[index] as GatewayProcess).end(signal)
    await senders.untilMore(EVENTS)
    gateways[index] = await start(port)
    await balancer.untilReady(index)
  }
  await senders.untilMore(EVENTS)
  await senders.stop()
  await balancer.close()
  for (const gateway of gateways) await gateway.end('SIGINT')

  const database = new Database(join(DATA_DIR, 'events.db'), { readonly: true })
  const stored = database
    .prepare<[], string>("SELECT lower(hex(id)) FROM events WHERE operation = 'search'")
    .pluck()
    .all()
  database.close()
  const { failed, acknowledged } = senders
  return { failed, acknowledged, stored, answered: balancer.answered }
}

/** Sends events until it is stopped, like pages: an event that is not acknowledged is sent again with the same id. */
function startSenders(url: string) {
  const agent = new Agent({ keepAlive: true })
  const acknowledged: string[] = []
  /** The answers that were not 200; 0 for none. */
  const failed: number[] = []
  let isStopped = false
  let wake = () => {}

  async function run(): Promise<void> {
    while (!isStopped) {
      const id = randomUUID()
      for (let status = 0; status !== 200; ) {
        status = await post(id)
        if (status !== 200) failed.push(status)
      }
      acknowledged.push(id.replaceAll('-', ''))
      wake()
    }
  }
  const post = (id: string) =>
    new Promise<number>((resolve) => {
      const sent = request(
        `${url}/t/r?k=DEMOSHOP&id=${id}`,
        { method: 'POST', headers: { origin: 'http://localhost' }, agent },
        (answer) => {
          answer.resume()
          answer.on('end', () => resolve(answer.statusCode ?? 0))
        },
      )
      sent.on('error', () => resolve(0))
      sent.end(
        JSON.stringify({
          event: 'search',
          search_term: 'mug',
          did: 'd-1',
          url: 'http://localhost/',
          http_user_agent: 'UA/1',
          remote_addr: '0.0.0.0',
        }),
      )
    })
  const runs = Array.from({ length: SENDERS }, run)
  return {
    failed,
    acknowledged,
    /** Resolves when this many more events are acknowledged. */
    async untilMore(count: number) {
      const target = acknowledged.length + count
      while (acknowledged.length < target)
        await new Promise<void>((resolve) => {
          wake = resolve
        })
    },
    async stop() {
      isStopped = true
      await Promise.all(runs)
      agent.destroy()
    },
  }
}
