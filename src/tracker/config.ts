import type { ConsentReader } from '../contract/consentTools.ts'
import type { AdoptSource, KeySettings } from '../contract/settings.ts'
import type { isExcluded } from './lib/isExcluded.ts'
import type { watchSources } from './lib/watchSources.ts'

/** An attribute of the script's tag is text: `false` becomes a boolean, and names to mask are separated by commas. */
type OrText<T> = T | (T extends boolean | number | readonly string[] ? string : never)

/** The configuration of a tracking key on this page: its settings (contract/settings.ts), and what the script adds. */
export type Config = {
  readonly [S in Exclude<keyof KeySettings, 'adoptDid'>]?: OrText<KeySettings[S]>
} & {
  /** Where the gateway says that an id is to be found. From the tag it may be false, or any text, which finds none. */
  readonly adoptDid?: AdoptSource | false | string
  /** The tracking key. */
  readonly key: string
  /** How to read the sources of consent. Absent if the key does not ask for consent. */
  readonly consentTools?: readonly ConsentReader[]
  /** Set by a script that has the part consentSources. */
  readonly watchSources?: typeof watchSources
  /** Set by a script that has the part exclude. */
  readonly isExcluded?: typeof isExcluded
  /** The gateway's address, without a slash at its end. The gateway serves it only if PUBLIC_URL is set. */
  base: string
  /** The gateway's PUBLIC_URL, if it is set. Used if `base` answers with a redirect. */
  readonly served?: string
  /** `eventPrefix` in the key's settings, whatever the tag says. Default ''. */
  readonly knownPrefix?: string
}

/**
 * The configuration of a key on this page: the settings that the gateway appended to the script, overridden by the
 * `data-*` attributes of its tag (`data-event-prefix` is `eventPrefix`). The value `false`, or none, switches off.
 *
 * The gateway's address is taken from the tag's `src`, because it may be that of a proxy on the shop's own host. A
 * script that was inlined, evaluated or moved has no such tag; then it is the gateway's PUBLIC_URL.
 *
 * @param served The settings, as the gateway wrote them.
 * @throws If the gateway's address is not known. The script must not start then.
 */
export function readConfig(served: Config, page: Document): Config {
  const tag = (page.currentScript ??
    page.querySelector(`script[src*="/t/j/${served.key}"]`)) as HTMLScriptElement | null
  const base = tag?.src?.match(/(.*)\/t\/j\//)?.[1]
  // Without a prototype, because pages extend Object.prototype.
  const config: { [name: string]: unknown } = {
    __proto__: null,
    ...served,
    ...(base && { base }),
    ...tag?.dataset,
    key: served.key,
    events: served.events,
    knownPrefix: served.eventPrefix ?? '',
    served: served.base,
  }
  for (const name in tag?.dataset) if (config[name] === 'false') config[name] = false
  if (!config.base) throw config
  return config as Config
}
