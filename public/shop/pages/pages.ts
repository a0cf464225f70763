/** Every page of the demo shop. */
import { PLAIN_PAGES } from './plain.ts'
import { SCRIPTED_PAGES } from './scripted.ts'

const named = (folder: string, pages: Readonly<Record<string, { readonly text: string }>>) =>
  Object.entries(pages).map(([name, { text }]) => [`${folder}${name}.html`, `${text}\n`] as const)

/** The HTML of each page by its path below the shop. */
export const PAGES: ReadonlyMap<string, string> = new Map([
  ...named('', SCRIPTED_PAGES),
  ...named('plain/', PLAIN_PAGES),
])
