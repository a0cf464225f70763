import type { Broker } from '../broker.ts'
import { streamOf } from '../names.ts'
import type { PartitionCopy } from './partitionCopy.ts'

/** Resolves when the copy has every message that its stream has now. */
export async function reachEnd({ jsm }: Pick<Broker, 'jsm'>, copy: PartitionCopy): Promise<void> {
  const { state } = await jsm.streams.info(streamOf(copy.partition))
  await copy.reach(state.last_seq)
}
