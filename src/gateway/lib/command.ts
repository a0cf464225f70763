/** Why a command failed. */
export type Fault = {
  readonly ok: false
  readonly lines: readonly string[]
  /** Whether the command line was wrong. */
  readonly isUsage: boolean
}
/** The result of a command: lines to print, or why it failed. */
export type Done = { readonly ok: true; readonly lines: readonly string[] } | Fault

export const misused = (...lines: readonly string[]): Fault => ({ ok: false, lines, isUsage: true })
export const failed = (...lines: readonly string[]): Fault => ({ ok: false, lines, isUsage: false })
export const done = (...lines: readonly string[]): Done => ({ ok: true, lines })
