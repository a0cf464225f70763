import { streamOf } from '../../src/gateway/nats/names.ts'
import type { NatsAccount, NatsCluster } from '../../src/test/natsCluster.ts'
import { connectNodes } from './streams.ts'

/** The replicas of the streams, each as its own node has it. */
export type Replicas = {
  /**
   * Waits until every node has the same number of messages of every partition, at most so long.
   *
   * @returns What differs, for a person. Undefined if nothing does.
   */
  findDifference(patienceMs: number): Promise<string | undefined>
  close(): Promise<void>
}

/** The part of the answer that is read here. */
type Answer = {
  readonly server: { readonly name: string }
  readonly data?: { readonly account_details?: readonly Account[] }
}
type Account = {
  readonly name: string
  readonly stream_detail?: readonly {
    readonly name: string
    readonly state: { readonly messages: number; readonly last_seq: number }
  }[]
}

/** Time for the answers of all nodes, ms. */
const ANSWER_MS = 2_000
const POLL_MS = 200

/** Asks the nodes themselves: the leader's view of its replicas does not say what they have stored. */
export async function openReplicas(
  cluster: Pick<NatsCluster, 'system' | 'size'>,
  { account }: NatsAccount,
  partitions: number,
): Promise<Replicas> {
  const nc = await connectNodes(cluster.system)
  const names = Array.from({ length: partitions }, (_, partition) => streamOf(partition))

  /** What each node has of each stream, by the stream's name. */
  async function ask(): Promise<Map<string, Set<string>>> {
    const states = new Map(names.map((name) => [name, new Set<string>()]))
    const query = JSON.stringify({ accounts: true, streams: true, account })
    const answers = await nc.requestMany('$SYS.REQ.SERVER.PING.JSZ', query, {
      maxWait: ANSWER_MS,
      maxMessages: cluster.size,
    })
    let count = 0
    for await (const message of answers) {
      const { data } = message.json<Answer>()
      const own = data?.account_details?.find(({ name }) => name === account)
      for (const { name, state } of own?.stream_detail ?? [])
        states.get(name)?.add(`${state.messages} up to ${state.last_seq}`)
      count++
    }
    if (count < cluster.size) throw new Error(`Only ${count} nodes answer`)
    return states
  }

  return {
    async findDifference(patienceMs) {
      const until = performance.now() + patienceMs
      const open = new Set(names)
      let last = 'no node answers'
      while (open.size > 0) {
        try {
          const states = await ask()
          // Under load the nodes are not asked at the same moment. Once is enough.
          for (const name of open) if (states.get(name)?.size === 1) open.delete(name)
          last = [...open].map((name) => `${name}: ${[...(states.get(name) ?? [])]}`).join('; ')
        } catch (error) {
          last = (error as Error).message
        }
        if (open.size > 0 && performance.now() > until) return last
        await new Promise((resolve) => setTimeout(resolve, POLL_MS))
      }
      return undefined
    },
    close: () => nc.close(),
  }
}
