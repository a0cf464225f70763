import type { Page, PageScript } from './readPage.ts'

/** A tag of the script on a page. */
export type Tag = {
  readonly key: string
  /** The gateway's address, without a slash at its end. */
  readonly gateway: string
  /** Whether its address has the hash of a pinned script. */
  readonly isPinned: boolean
  readonly script: PageScript
  /**
   * Why a browser does not run it; `delayed`: an optimizer or a consent tool has changed its type or its `src`, to run
   * it later. Undefined if it runs.
   */
  readonly dead: 'comment' | 'noscript' | 'template' | 'nomodule' | 'delayed' | undefined
}

/** The text of a script that is in the page itself instead of a file. */
export type Inlined = {
  readonly key: string
  /** Whether it contains the gateway's address, without which it does not start. */
  readonly hasBase: boolean
}

/** A key has at most 20 characters, each of at most 12 when it is encoded. */
const ADDRESS = /^(.{1,2000})\/t\/j\/([^/?#]{1,240})(?:\/([^/?#]+))?(?:[?#]|$)/s
/** The types of scripts that browsers run (https://mimesniff.spec.whatwg.org/#javascript-mime-type). None has parameters. */
const JAVASCRIPT =
  /^(module|(text|application)\/(x-)?(java|ecma)script|text\/(javascript1\.[0-5]|jscript|livescript))?$/i
/** The end of a served script: its configuration, with the key at last. */
const CONFIG_END = /"key":"((?:[^"\\]|\\.){1,200})"\}\);\s*$/

/** Every tag of the script on a page, also those that do not run. */
export function findTags({ scripts, url }: Page): readonly Tag[] {
  return scripts.flatMap((script): Tag[] => {
    const { attributes, src, place } = script
    const isDelayed = !JAVASCRIPT.test(attributes.type?.trim() ?? '')
    const running = src === undefined ? undefined : ADDRESS.exec(src)
    const hidden = running ? undefined : findHidden(attributes, url)
    const found = running ?? hidden
    if (!found) return []
    const [, gateway = '', key = '', file] = found
    const later = isDelayed || hidden ? 'delayed' : undefined
    const unused = attributes.nomodule === undefined ? later : 'nomodule'
    const dead = place === 'page' ? unused : place
    return [{ key: decode(key), gateway, isPinned: file !== undefined, script, dead }]
  })
}

/** Attributes of a script that are looked at. */
const MAX_ATTRIBUTES = 50

/** An address in another attribute than `src`, where optimizers keep it. */
function findHidden(attributes: Readonly<Record<string, string>>, page: string) {
  for (const [name, value] of Object.entries(attributes).slice(0, MAX_ATTRIBUTES)) {
    if (name === 'src' || !value.includes('/t/j/')) continue
    try {
      const found = ADDRESS.exec(new URL(value, page).href)
      if (found) return found
    } catch {
      // Not an address.
    }
  }
  return undefined
}

/** The script's text in the page. */
export function findInlined({ scripts }: Page): readonly Inlined[] {
  return scripts.flatMap(({ text, src, place }): Inlined[] => {
    if (src !== undefined || place !== 'page' || !text.includes('"batch":true')) return []
    const [, key] = CONFIG_END.exec(text.slice(-400)) ?? []
    return key ? [{ key, hasBase: /"batch":true,"base":"/.test(text) }] : []
  })
}

/** Whether the page has a script that may add the tag: its text contains the address, or it is a tag manager. */
export function findAdder({ scripts }: Page): 'script' | 'tag manager' | undefined {
  const live = scripts.filter(({ place }) => place === 'page')
  if (live.some(({ text }) => text.includes('/t/j/'))) return 'script'
  return live.some(({ src, text }) => TAG_MANAGER.test(src ?? text)) ? 'tag manager' : undefined
}

const TAG_MANAGER = /\/gtm\.js\?|\/gtm\.js\b|\bGTM-[A-Z\d]{4,10}\b/

/** The text that every stub contains. */
const STUB_MARK = /hasOwnProperty\(n\)&&w\[n\]\|\|\(w\[n\]=new Proxy\(/

/** The stub in a page. */
export const findStub = ({ scripts }: Page): PageScript | undefined =>
  scripts.find(({ text, place }) => place === 'page' && STUB_MARK.test(text))

const HELPER =
  /(?<![\w$])([\w$]{1,64})\.(viewHomepage|viewProduct|search|addToCart|removeFromCart|addToWishlist|removeFromWishlist|initiateCheckout|setEmail|sendCustom)\s*\(/g

/**
 * Whether a script in the page calls a helper, now or later in a function.
 *
 * @param name The global name of the helpers.
 */
export const callsHelpers = ({ scripts }: Page, name: string): boolean =>
  scripts.some(
    ({ text, place }) =>
      place === 'page' && [...text.matchAll(HELPER)].some(([, called]) => called === name),
  )

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
