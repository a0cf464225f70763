import { allPartitions } from './names.ts'

/** For each partition, whether it can be written at the moment. */
export type Breakers = {
  /** Whether the partition is closed off: appends to it fail at once. */
  isOpen(partition: number): boolean
  /** Whether all partitions are closed off. */
  areAllOpen(): boolean
  /**
   * A message of the partition was not acknowledged in time. Closes it off until a probe succeeds. Meanwhile the other
   * partitions are probed too, so that a cluster without a quorum is noticed at once.
   */
  open(partition: number): void
  /** Probes every partition. Resolves with whether one can be written. */
  probe(): Promise<boolean>
  stop(): void
}

/** Time between two probes of all partitions, while one is closed off, ms. */
export const PROBE_MS = 500

export type BreakerOptions = {
  readonly partitions: number
  /** Whether the partition can be written. Resolves within some seconds, and does not reject. */
  readonly probe: (partition: number) => Promise<boolean>
  /** Called when a partition is closed off, and when it is written again. */
  readonly onChange: (partition: number, isOpen: boolean) => void
  /** Time between two probes of all partitions, while one is closed off, ms. Default PROBE_MS. */
  readonly probeMs?: number
}

/**
 * The circuit breakers of all partitions. Without them each event would wait for its deadline while a partition has no
 * quorum, and the queue would be full of such events.
 */
export function createBreakers({
  partitions,
  probe,
  onChange,
  probeMs = PROBE_MS,
}: BreakerOptions): Breakers {
  const all = allPartitions(partitions)
  /** The partitions that are closed off. */
  const open = new Set<number>()
  let timer: NodeJS.Timeout | undefined
  let isProbing = false
  let isStopped = false

  function set(partition: number, isOpen: boolean): void {
    if (isStopped || open.has(partition) === isOpen) return
    if (isOpen) open.add(partition)
    else open.delete(partition)
    onChange(partition, isOpen)
  }

  /** Probes all partitions again and again, as long as one is closed off. */
  async function probeAll(): Promise<void> {
    if (isProbing) return
    isProbing = true
    await Promise.all(
      all.map(async (partition) => {
        // One that was closed off just now gets its probe in the next round.
        const wasOpen = open.has(partition)
        const works = await probe(partition)
        if (wasOpen || !works) set(partition, !works)
      }),
    )
    isProbing = false
    if (open.size > 0 && !isStopped) timer = setTimeout(probeAll, probeMs)
  }

  return {
    isOpen: (partition) => open.has(partition),
    areAllOpen: () => open.size === partitions,
    open(partition) {
      if (isStopped || open.has(partition)) return
      clearTimeout(timer)
      set(partition, true)
      probeAll()
    },
    probe: async () => (await Promise.all(all.map(probe))).includes(true),
    stop() {
      isStopped = true
      clearTimeout(timer)
    },
  }
}
