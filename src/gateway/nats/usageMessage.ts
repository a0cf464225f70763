import type { Usage } from '../customers/usage.ts'

/** Usages as the data of a message: JSON. */
export const encodeUsages = (usages: readonly Usage[]): string => JSON.stringify(usages)

/** @throws SyntaxError if the data is not JSON. */
export const decodeUsages = (data: Uint8Array): readonly Usage[] =>
  JSON.parse(Buffer.from(data).toString())
