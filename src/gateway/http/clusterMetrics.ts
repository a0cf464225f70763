import { Counter, Gauge, type Registry } from 'prom-client'

/** The state of a process that keeps its data in a cluster. */
export type ClusterFigures = {
  /** Whether a server of the cluster is connected. */
  readonly isConnected: boolean
  /** Since the start: how often the connection was lost. */
  readonly lostConnections: number
  /** Since the start: messages that were sent again, since their acknowledgement did not come. */
  readonly repeatedMessages: number
  /** Since the start: changes of customers and settings that met one of another process, and were decided by the bucket. */
  readonly mirrorConflicts: number
  /** By partition: whether its events are refused at once, since the last ones were not acknowledged. */
  readonly closedOff: readonly boolean[]
  /** What the follower of this process does. Empty without one. */
  readonly followed: readonly FollowedPartition[]
  /** Since the start: partitions that the follower has taken over. */
  readonly takeOvers: number
}

/** A partition that a follower copies. */
export type FollowedPartition = {
  readonly partition: number
  /** Messages up to this sequence of the stream are in the copy. Undefined while it is being opened. */
  readonly position: number | undefined
  /** Messages of the stream that are not in the copy. Undefined if that is not known. */
  readonly lag: number | undefined
  /** Whether this process holds the partition: it makes the reports, forwards and answers questions. */
  readonly isHeld: boolean
  /** Whether the copy differs from the stream. */
  readonly differs: boolean
}

/**
 * Adds the metrics of a cluster, of this process.
 *
 * @param read Returns the figures. Undefined while the data is not open: then the process is not connected.
 */
export function addClusterMetrics(
  registers: Registry[],
  read: () => ClusterFigures | undefined,
): void {
  const labelNames = ['partition']
  const counter = (name: string, help: string, figureOf: (figures: ClusterFigures) => number) =>
    new Counter({
      ...{ name, help, registers },
      collect() {
        const figures = read()
        this.reset()
        if (figures) this.inc(figureOf(figures))
      },
    })
  const ofFollowed = (
    name: string,
    help: string,
    figureOf: (followed: FollowedPartition) => number,
  ) =>
    new Gauge({
      ...{ name, help, labelNames, registers },
      collect() {
        this.reset()
        for (const followed of read()?.followed ?? [])
          this.set({ partition: followed.partition }, figureOf(followed))
      },
    })

  new Gauge({
    name: 'cluster_connected',
    help: 'Whether a server of the cluster is connected: 1 or 0',
    registers,
    collect() {
      this.set(read()?.isConnected ? 1 : 0)
    },
  })
  counter(
    'cluster_connections_lost_total',
    'How often the connection to the cluster was lost',
    ({ lostConnections }) => lostConnections,
  )
  new Gauge({
    name: 'partition_closed_off',
    help: '1 while events of the partition are refused at once, since the cluster has not acknowledged the last ones',
    labelNames,
    registers,
    collect() {
      this.reset()
      for (const [partition, isClosedOff] of (read()?.closedOff ?? []).entries())
        this.set({ partition }, isClosedOff ? 1 : 0)
    },
  })
  counter(
    'publish_repeated_total',
    'Messages that were sent again, since their acknowledgement did not come. They are stored once',
    ({ repeatedMessages }) => repeatedMessages,
  )
  ofFollowed(
    'partition_held',
    '1 if this process holds the partition: it makes its reports and forwards its events',
    ({ isHeld }) => (isHeld ? 1 : 0),
  )
  ofFollowed(
    'follower_position',
    'Sequence of the last message of the stream that is in the copy of this process. NaN while it is being opened',
    ({ position }) => position ?? Number.NaN,
  )
  ofFollowed(
    'follower_lag_messages',
    'Messages of the stream that are not in the copy of this process. NaN if that is not known',
    ({ lag }) => lag ?? Number.NaN,
  )
  ofFollowed(
    'follower_copy_differs',
    '1 if the copy of this process lacks an event of the stream, or has another one at its place',
    ({ differs }) => (differs ? 1 : 0),
  )
  counter(
    'partitions_taken_over_total',
    'Partitions that this process has taken from a follower that did not renew its lease',
    ({ takeOvers }) => takeOvers,
  )
  counter(
    'mirror_conflicts_total',
    'Changes of customers, keys or destinations that met one of another process. The bucket of the cluster decided',
    ({ mirrorConflicts }) => mirrorConflicts,
  )
}
