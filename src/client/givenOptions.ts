import { describeValue } from '../contract/describeValue.ts'
import { tagOf } from '../contract/fields.ts'
import type { Issue } from '../contract/index.ts'

/** Options as they were given, each read once, and the faults found so far. */
export type GivenOptions<N extends string> = {
  readonly given: { readonly [O in N]?: unknown }
  readonly issues: Issue[]
  /**
   * Adds a fault.
   *
   * @param what What was expected.
   * @param received Default: the value's kind. A value is not shown, since it may be a key.
   */
  refuse(path: string, what: string, value: unknown, received?: string): void
}

/** In place of an option that throws when it is read: no check takes it. */
const UNREADABLE = Symbol('unreadable')

/**
 * Takes options that strangers give: what throws when it is read and what there is no option for are
 * faults as any. Never throws, and tells nothing of what was thrown.
 */
export function takeOptions<N extends string>(
  options: unknown,
  names: readonly N[],
): GivenOptions<N> {
  const issues: Issue[] = []
  const refuse = (path: string, what: string, value: unknown, received = tell(value)) => {
    issues.push({ path, message: `Expected ${what}, received ${received}` })
  }
  const all = `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`
  const given = {} as { [O in N]?: unknown }
  try {
    const tag = options === undefined || options === null ? 'Object' : tagOf(options)
    // A module too: its exports may be the options.
    if (!/^(Object|Module)$/.test(tag)) refuse('', 'options as an object', options)
    else
      for (const name of Object.keys(Object(options)))
        if (!names.includes(name as N)) refuse(name, all, name, 'an option that there is not')
  } catch {
    refuse('', 'options that can be read', UNREADABLE)
  }
  for (const name of names) given[name] = read(() => Object(options)[name])
  return { given, issues, refuse }
}

/** What `of` answers; where it throws, what no check takes. */
export function read(of: () => unknown): unknown {
  try {
    return of()
  } catch {
    return UNREADABLE
  }
}

/** A revoked proxy can not even be asked whether it is a list. */
function tell(value: unknown): string {
  const kind = read(() => describeValue(value, true))
  return value === UNREADABLE || kind === UNREADABLE ? 'what can not be read' : `${String(kind)}`
}
