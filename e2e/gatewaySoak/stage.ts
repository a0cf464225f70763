import type { Random } from '../random.ts'
import type { OwnGateway } from './gateways.ts'
import type { Seen } from './senders.ts'

/** Where the gateways of a soak keep their data, and the faults of it. */
export type Stage = {
  /** Data folders of everything that forwards. */
  readonly folders: readonly string[]
  /** How often each fault was caused. */
  readonly counts: Readonly<Record<string, number>>
  /** Starts one of the two gateways. */
  start(index: number): Promise<OwnGateway>
  /** Runs `shoptrail` with the settings of the gateways. @returns What it has printed. */
  command(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<string>
  /** Causes faults until it is calm. */
  disturb(isCalm: () => boolean): Promise<void>[]
  /** Ends the last faults. */
  mend(): Promise<void>
  /** How often each id is in the log. */
  countLog(): Promise<ReadonlyMap<string, number>>
  /** What has gone wrong, by a name. */
  countFaults(): Promise<Readonly<Record<string, number>>>
  end(): Promise<void>
}

export type StageOptions = {
  /** A folder, which exists. */
  readonly home: string
  /** Settings of the gateways. */
  readonly env: Readonly<Record<string, string>>
  readonly random: Random
  readonly seed: number
  /** Whether nodes of a cluster are suspended too. */
  readonly suspends: boolean
  readonly seen: Seen
}
