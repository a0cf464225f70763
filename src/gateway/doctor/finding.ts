import type { Level } from '../../contract/setup.ts'

/** One thing that doctor has found. Only an `error` keeps the gateway from working. */
export type DoctorFinding = {
  /** Name of the check, such as `disk`. */
  readonly check: string
  readonly level: Level
  /** What was found and where, a sentence or two. */
  readonly message: string
  /** What to do, as lines to follow. Empty if there is nothing to do. */
  readonly fix: readonly string[]
}

/** What a check returns: findings without the name of the check. */
export type Found = Omit<DoctorFinding, 'check'>

const make =
  (level: Level) =>
  (message: string, ...fix: readonly string[]): Found => ({ level, message, fix })

export const ok = make('ok')
export const note = make('note')
export const warning = make('warning')
export const error = make('error')
