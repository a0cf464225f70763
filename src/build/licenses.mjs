import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './install.mjs'

const HEAD = `The files of this package contain code of the packages below, under these licences.\n`
const LINE = '-'.repeat(80)

/**
 * The licences of all packages that are in the bundles, as one text.
 *
 * @param inputs The modules of the bundles, as paths from the base. May have duplicates.
 * @param base Default: the root.
 * @throws Error if a package has no file with its licence. Then look for its licence before it is shipped.
 */
export function licensesOf(inputs, base = root) {
  const parts = foldersOf(inputs).map((folder) => {
    const { name, version, license } = JSON.parse(
      readFileSync(join(base, folder, 'package.json'), 'utf8'),
    )
    const file = readdirSync(join(base, folder)).find((path) => /^licen[cs]e/i.test(path))
    if (!file) throw new Error(`${folder} is in a bundle and has no file with its licence`)
    const text = readFileSync(join(base, folder, file), 'utf8')
      .replaceAll('\r\n', '\n')
      .trim()
    return `${LINE}\n${name} ${version} (${license})\n${LINE}\n\n${text}\n`
  })
  return [HEAD, ...parts].join('\n')
}

/** The folders of the packages, sorted. A package may be there twice, in two versions. */
function foldersOf(inputs) {
  const folders = inputs.map((path) => /^.*\bnode_modules\/(@[^/]+\/)?[^/]+/.exec(path)?.[0])
  return [...new Set(folders)].filter(Boolean).sort()
}
