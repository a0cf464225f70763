import { asObject } from '../collect/verdicts.ts'

/** A JSON merge patch of an object. */
export type MergePatch = Readonly<Record<string, unknown>>

/** A payload has two levels. A patch of more than this many is a mistake. */
const MAX_DEPTH = 8

/**
 * Applies a JSON merge patch (RFC 7396): null removes a field, an object is merged, everything else replaces.
 *
 * @throws Error if the patch is nested more deeply than any payload.
 */
export function mergePatch(target: unknown, patch: MergePatch, depth = 1): Record<string, unknown> {
  if (depth > MAX_DEPTH) throw new Error(`Expected a patch of at most ${MAX_DEPTH} levels`)
  const merged = new Map(Object.entries(asObject(target) ?? {}))
  for (const [name, value] of Object.entries(patch)) {
    const inner = asObject(value)
    if (value === null) merged.delete(name)
    else merged.set(name, inner ? mergePatch(merged.get(name), inner, depth + 1) : value)
  }
  // Defines own fields, also one with the name `__proto__`.
  return Object.fromEntries(merged)
}
