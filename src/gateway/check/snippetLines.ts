import { GLOBAL } from '../../contract/settings.ts'
import { KEEPING_STUB, STUB } from '../../tracker/snippet.ts'

/** A text as the value of an attribute in double quotes. */
const toAttribute = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')

/**
 * The tag of a key's script.
 *
 * @param gateway The gateway's address, without a slash at its end.
 */
export const tagOf = (gateway: string, trackingKey: string): string =>
  `<script async src="${toAttribute(scriptAddress(gateway, trackingKey))}"></script>`

/** The address of a key's script. */
export const scriptAddress = (gateway: string, trackingKey: string): string =>
  `${gateway}/t/j/${encodeURIComponent(trackingKey)}`

/**
 * The stub as a line of HTML.
 *
 * @param name The global name of the helpers. Default `track`.
 * @param keeps Whether it keeps its calls if the visitor leaves before the script has loaded.
 */
export const stubOf = (name = GLOBAL, keeps = false): string =>
  `<script>${stubSource(name, keeps)}</script>`

/** The text of the stub, of which a Content-Security-Policy may contain the hash. */
export const stubSource = (name: string, keeps: boolean): string =>
  (keeps ? KEEPING_STUB : STUB).replace(/"track"\)$/, () => `${JSON.stringify(name)})`)
