/** For each partition, whether it is written at the moment. */
export type Breakers = {
  /** Whether the partition is closed off: appends to it fail at once. */
  isOpen(partition: number): boolean
  /** Whether no partition is written. */
  areAllOpen(): boolean
  /**
   * A message of the partition was not acknowledged in time. Closes it off until a probe succeeds, and probes the other
   * partitions, so that a cluster without a quorum is noticed at once.
   */
  open(partition: number): void
  /** Probes every partition. Resolves with whether one can be written. */
  probe(): Promise<boolean>
  stop(): void
}

export type BreakerOptions = {
  readonly partitions: number
  /** Whether the partition can be written. Resolves within some seconds, and does not reject. */
  readonly probe: (partition: number) => Promise<boolean>
  /** Called when a partition is closed off, and when it is written again. */
  readonly onChange: (partition: number, isOpen: boolean) => void
  /** Time between two probes of a partition that is closed off, ms. Default 500. */
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
  probeMs = 500,
}: BreakerOptions): Breakers {
  /** The partitions that are closed off, and the timer of the next probe. */
  const open = new Map<number, NodeJS.Timeout | undefined>()
  let isStopped = false

  function trip(partition: number): void {
    if (isStopped || open.has(partition)) return
    open.set(partition, undefined)
    onChange(partition, true)
    probeLater(partition)
  }

  function probeLater(partition: number): void {
    const timer = setTimeout(async () => {
      const works = await probe(partition)
      if (isStopped) return
      if (works) close(partition)
      else probeLater(partition)
    }, probeMs)
    open.set(partition, timer)
  }

  function close(partition: number): void {
    if (!open.has(partition)) return
    clearTimeout(open.get(partition))
    open.delete(partition)
    onChange(partition, false)
  }

  async function check(partition: number): Promise<boolean> {
    const works = await probe(partition)
    if (!works) trip(partition)
    return works
  }

  const all = Array.from({ length: partitions }, (_, partition) => partition)

  return {
    isOpen: (partition) => open.has(partition),
    areAllOpen: () => open.size === partitions,
    open(partition) {
      if (open.has(partition)) return
      trip(partition)
      for (const other of all) if (!open.has(other)) check(other)
    },
    probe: async () => (await Promise.all(all.map(probe))).includes(true),
    stop() {
      isStopped = true
      for (const timer of open.values()) clearTimeout(timer)
    },
  }
}
