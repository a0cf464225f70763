import { setTimeout as delay } from 'node:timers/promises'
import { millis } from '@nats-io/transport-node'
import type { Broker } from '../gateway/nats/broker.ts'
import { allPartitions, streamOf } from '../gateway/nats/names.ts'

/** How much longer than the duplicate window a node may know an id, ms. It purges ids by a timer. */
const MARGIN_MS = 2_000

/**
 * Resolves when every node has forgotten the ids of all stored messages, so that each of them would be stored again.
 *
 * This waits by the clock, and does not send an id again and again until it is stored. With nats-server 2.9.10 each node
 * decides for itself whether an id is a repetition. If one comes at the end of the window, some nodes store the message
 * and others do not, and the sequences of the replicas differ from there on.
 */
export async function awaitForgottenIds({ jsm, partitions }: Broker): Promise<void> {
  for (const partition of allPartitions(partitions))
    for (;;) {
      // Again after each wait: what a process has sent before it was killed may be stored meanwhile.
      const { config, state } = await jsm.streams.info(streamOf(partition))
      const forgottenAt = Date.parse(state.last_ts) + millis(config.duplicate_window) + MARGIN_MS
      const left = forgottenAt - Date.now()
      if (left <= 0) break
      await delay(left)
    }
}
