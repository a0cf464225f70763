import type { Kind } from './kind.ts'

/** Every kind of destination, by its name. */
export const KINDS: ReadonlyMap<string, Kind> = new Map<string, Kind>([])
