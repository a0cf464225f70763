import { nearest } from '../../contract/nearest.ts'
import { SETTING_NAMES } from './settingNames.ts'

/** Of this many letters one may be wrong. Other attributes belong to something else, such as a consent manager. */
const LETTERS_PER_FAULT = 4
/** Settings that can be set only for the key: the gateway reads them, or they are objects. */
const OF_KEY = /^(events|consentSources|consentCategory|tcfPurposes|tcfVendor)$/

/**
 * The attributes of the script's tags that seem to be misspelled settings, or that a tag can not set. The script ignores
 * them.
 *
 * @returns A text for each, with the name that was probably meant.
 */
export function findUnknown(page: Window): string[] {
  const tags = page.document.querySelectorAll<HTMLElement>('script[src*="/t/j/"]')
  return [...tags]
    .flatMap(({ dataset }) => Object.keys(dataset))
    .flatMap((name) => {
      const near = nearest(name, SETTING_NAMES, Math.floor(name.length / LETTERS_PER_FAULT))
      if (!near || (near === name && !OF_KEY.test(name))) return []
      const fix = OF_KEY.test(near)
        ? `npx shoptrail customer set ID --config '{"${near}":…}'`
        : `Did you mean ${attributeOf(near)}?`
      return [
        `track: ${attributeOf(name)} on the script's tag is ignored\n  why: A tag has no such setting.\n  fix: ${fix}`,
      ]
    })
}

const attributeOf = (name: string): string =>
  `data-${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
