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
  const pattern = RegExp(
    `^(${`${paths}`
      .replace(/[^\w*,]/g, '\\$&')
      .replace(/\*/g, '.*')
      .replace(/,/g, '|')})$`,
  )
  const { pathname } = new URL(url)
  return pattern.test(pathname) || guard(() => pattern.test(decodeURI(pathname)), false)
}
