/** What went wrong with a command: with what was typed, or with what it asks for. */
export type Fault = {
  readonly ok: false
  readonly lines: readonly string[]
  readonly isUsage: boolean
}
/** The lines to print, or what went wrong. */
export type Done = { readonly ok: true; readonly lines: readonly string[] } | Fault

export const misused = (...lines: readonly string[]): Fault => ({ ok: false, lines, isUsage: true })
export const failed = (...lines: readonly string[]): Fault => ({ ok: false, lines, isUsage: false })
export const done = (...lines: readonly string[]): Done => ({ ok: true, lines })
