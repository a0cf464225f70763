import { guard } from './guard.ts'

/**
 * Whether the path of a URL is one of the setting `exclude`, as it is written in the address or decoded.
 *
 * @param paths Paths, in which `*` stands for any text. On the script's tag they are separated by commas, so a path has
 * none.
 * @param url A valid URL.
 */
export function isExcluded(paths: readonly string[] | string | undefined, url: string): boolean {
  if (!paths) return false
  // No regular expression, since some with several stars take seconds on a long path.
  const matches = (path: string) =>
    `${paths}`.split(/ *, */).some((glob) => {
      const ended = `\n${path}\n`
      let at = 0
      return `\n${glob}\n`.split('*').every((text) => {
        const found = ended.indexOf(text, at)
        at = found + text.length
        return found >= 0
      })
    })
  const { pathname } = new URL(url)
  return matches(pathname) || guard(() => matches(decodeURI(pathname)), false)
}
