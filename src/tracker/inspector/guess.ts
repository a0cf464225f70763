import type { TrackingOperation } from '../../contract/payloads.ts'

/** In place of a value that the page does not give. */
export const UNKNOWN = '…'

/** Something on the page that could be tracked, probably. */
export type Guess = {
  readonly operation: TrackingOperation
  /** Where the attributes belong. */
  readonly element: HTMLElement
  /** What it was recognised by. */
  readonly why: string
  readonly attributes: readonly (readonly [name: string, value: string])[]
  /** What to check, one sentence each. */
  readonly notes: readonly string[]
  /** How many such elements the page has. */
  readonly count: number
}

/** A guess for one element, before those that are alike are joined. */
export type Found = Omit<Guess, 'count'>

/** The attributes as they are pasted into a tag. */
export const toHtml = ({ attributes }: Pick<Guess, 'attributes'>): string =>
  attributes
    .map(([name, value]) => `${name}="${value.replace(/&/g, '&amp;').replace(/"/g, '&quot;')}"`)
    .join(' ')
