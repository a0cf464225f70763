import type { Payload } from './data.ts'

/** A JSON merge patch (RFC 7396). Null: none. */
export type Patch = Payload | null

/** Reads what an operator has typed. An empty text is no patch. */
export function readPatch(
  text: string,
): { readonly ok: true; readonly patch: Patch } | { readonly ok: false; readonly fault: string } {
  if (!text.trim()) return { ok: true, patch: null }
  try {
    const patch: unknown = JSON.parse(text)
    return typeof patch === 'object' && patch !== null && !Array.isArray(patch)
      ? { ok: true, patch: patch as Payload }
      : { ok: false, fault: 'Expected an object: { … }' }
  } catch (error) {
    return { ok: false, fault: `This is not JSON: ${(error as Error).message}` }
  }
}

export type Change = {
  readonly name: string
  /** JSON. Undefined if the field is missing. */
  readonly from: string | undefined
  readonly to: string | undefined
}

/** The fields of a payload that differ, those of objects in it by their paths. */
export function changesOf(before: Payload, after: Payload, path = ''): Change[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...names].flatMap((name) => {
    const [from, to] = [before[name], after[name]]
    if (isObject(from) && isObject(to)) return changesOf(from, to, `${path}${name}.`)
    const change = { name: path + name, from: JSON.stringify(from), to: JSON.stringify(to) }
    return change.from === change.to ? [] : [change]
  })
}

const isObject = (value: unknown): value is Payload =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
