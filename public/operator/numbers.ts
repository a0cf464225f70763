/** Built once: `toLocaleString` builds a formatter at each call, and the live view writes fifty numbers a frame. */
const FORMAT = new Intl.NumberFormat('en-US')

/** `1,200`. */
export const number = (value: number): string => FORMAT.format(value)

/** The noun for a count: `device` for 1, else `devices`. */
export const nameOf = (count: number, one: string): string => (count === 1 ? one : `${one}s`)

/** `1 visitor`, `1,200 visitors`. */
export const counted = (count: number, one: string): string =>
  `${number(count)} ${nameOf(count, one)}`
