import type { Served } from './describeConsent.ts'
import { cut } from './printValue.ts'
import { SETTING_NAMES } from './settingNames.ts'

/** A setting that is not the default. */
export type Setting = {
  readonly name: string
  readonly value: string
  readonly from: 'key' | 'tag'
  /** What the key says, if the tag says something else. */
  readonly overridden?: string | undefined
}

/**
 * The settings of a key on this page, and whether each comes from the key or from the tag.
 *
 * @param config The configuration that the script runs with.
 * @param tag The `data-*` attributes of the key's tag. Empty without one.
 * @param served The key's own settings, if the gateway has answered.
 */
export function listSettings(
  config: object,
  tag: { readonly [name: string]: string | undefined },
  served: Served | undefined,
): Setting[] {
  const of = (settings: object | undefined, name: string): unknown =>
    Object.getOwnPropertyDescriptor(Object(settings), name)?.value
  return SETTING_NAMES.flatMap((name): Setting[] => {
    const value = of(config, name)
    if (value === undefined || UNCHOSEN.includes(name)) return []
    const isTag = typeof of(tag, name) === 'string'
    const own = isTag ? of(served, name) : undefined
    return [
      {
        name,
        value: text(value),
        from: isTag ? 'tag' : 'key',
        overridden: own === undefined || text(own) === text(value) ? undefined : text(own),
      },
    ]
  })
}

/** Every key has them: the gateway takes batches, and gives the script a pattern for the id that it adopts. */
const UNCHOSEN = ['batch', 'adoptDid']

const text = (value: unknown): string =>
  cut(typeof value === 'string' ? value : `${JSON.stringify(value)}`)
