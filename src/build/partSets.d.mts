export const PARTS: readonly string[]
export const DEFAULT_SET: readonly string[]
export const DEVICE_COOKIE: string
export const PART_SETS: readonly (readonly string[])[]
export function scriptFile(set: readonly string[]): string
export const SOURCES: string
export function entryOf(set: readonly string[]): string
