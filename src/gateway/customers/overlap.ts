/** The two keys of a customer. */
export type KeyKind = 'rest' | 'tracking'

/** The longest overlap of an old key with the new one, ms: 90 days. */
export const MAX_OVERLAP_MS = 90 * 86_400_000
const MIN_OVERLAP_MS = 60_000

const UNITS_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }
/** The rule of `readOverlap` for error messages. */
export const OVERLAP_RULE = 'minutes, hours or days such as 30m, 24h or 7d, from 1m to 90d'

/** Reads the length of an overlap, such as `24h`. Returns ms, or undefined if it is not valid. */
export function readOverlap(text: string): number | undefined {
  const [, digits, unit] = /^(\d{1,6})([mhd])$/.exec(text) ?? []
  const ms = Number(digits) * (UNITS_MS[unit ?? ''] as number)
  return ms >= MIN_OVERLAP_MS && ms <= MAX_OVERLAP_MS ? ms : undefined
}

/** A key of before a rotation that still works. */
export type OldKey<Value> = {
  readonly value: Value
  /** When it stops working, ms since 1970. At this moment it does not work any more. */
  readonly until: number
}

/** The old key of a customer already has an overlap. */
export class OverlapLasts extends Error {
  override readonly name = 'OverlapLasts'
  readonly until: number
  constructor(until: number) {
    super('An old key still works')
    this.until = until
  }
}
