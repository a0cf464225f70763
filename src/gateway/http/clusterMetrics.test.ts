import { expect, test } from 'vitest'
import { makeClusterFigures } from '../../test/clusterFigures.ts'
import type { ClusterFigures } from './clusterMetrics.ts'
import { createMetrics } from './metrics.ts'

/** The lines of the metrics, without those of every gateway. */
async function render(read: (() => ClusterFigures | undefined) | undefined): Promise<string[]> {
  const metrics = createMetrics(
    () => 0,
    () => new Map(),
    read ? { cluster: read } : {},
  )
  const { text } = await metrics.render()
  return text
    .split('\n')
    .filter((line) => /^(cluster|partition|partitions|publish|follower|mirror)_/.test(line))
}

test('a process of a cluster shows its connection, and what it does for each partition', async () => {
  let figures: ClusterFigures | undefined = makeClusterFigures()
  expect(await render(() => figures)).toEqual([
    'cluster_connected 1',
    'cluster_connections_lost_total 2',
    'partition_closed_off{partition="0"} 0',
    'partition_closed_off{partition="1"} 1',
    'publish_repeated_total 5',
    'partition_held{partition="0"} 1',
    'partition_held{partition="1"} 0',
    'follower_position{partition="0"} 70',
    'follower_position{partition="1"} Nan',
    'follower_lag_messages{partition="0"} 3',
    'follower_lag_messages{partition="1"} Nan',
    'follower_copy_differs{partition="0"} 0',
    'follower_copy_differs{partition="1"} 1',
    'partitions_taken_over_total 4',
    'mirror_conflicts_total 1',
  ])
  figures = undefined
  expect(await render(() => figures)).toEqual([
    'cluster_connected 0',
    'cluster_connections_lost_total 0',
    'publish_repeated_total 0',
    'partitions_taken_over_total 0',
    'mirror_conflicts_total 0',
  ])
})

test('a gateway without a cluster has none of these metrics', async () => {
  expect(await render(undefined)).toEqual([])
})
