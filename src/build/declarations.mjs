import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { root } from './install.mjs'

/**
 * The declarations that entries of the package need, each in two forms: TypeScript takes a `.d.ts` for a module, since
 * package.json says so, and reports an error if `require` loads it. `.d.cts` is for `require`.
 *
 * @param entries Paths of sources below src.
 * @returns Text by path below src: `client/index.d.ts`, `client/index.d.cts`.
 * @throws Error if a declaration imports a package, since whoever installs shoptrail does not have it.
 */
export function declarationsOf(entries) {
  emit()
  const files = new Map()
  const todo = [...entries]
  for (const path of todo) {
    const text = readDeclaration(path)
    for (const specifier of importsOf(text)) {
      if (!specifier.startsWith('.'))
        throw new Error(`The declaration of src/${path} must not import ${specifier}`)
      const target = posix.join(posix.dirname(path), specifier)
      if (!todo.includes(target)) todo.push(target)
    }
    const name = nameOf(path)
    files.set(`${name}.d.ts`, rename(text, 'js'))
    files.set(`${name}.d.cts`, rename(text, 'cjs'))
  }
  return files
}

function emit() {
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const { status } = spawnSync(
    process.execPath,
    [tsc, '-b', 'src/client', 'src/tracker', '--pretty', 'false'],
    { cwd: root, stdio: 'inherit' },
  )
  if (status !== 0) throw new Error('The types of the package have the faults above.')
}

const nameOf = (path) => path.replace(/(\.d)?\.ts$/, '')

/** A file that is a declaration itself is not copied by the compiler. */
function readDeclaration(path) {
  const own = join(root, 'src', path)
  const emitted = join(root, 'dist/types', `${nameOf(path)}.d.ts`)
  return readFileSync(path.endsWith('.d.ts') && existsSync(own) ? own : emitted, 'utf8')
}

const IMPORT = /(\b(?:from|import)\s*\(?\s*['"])([^'"]+)(['"])/g

/** Examples in comments import the package itself. */
const importsOf = (text) =>
  [...text.replace(/\/\*.*?\*\/|\/\/.*/gs, '').matchAll(IMPORT)].map(([, , specifier]) => specifier)

/** Compilers before 5.7 do not find './x.ts'. */
const rename = (text, extension) =>
  text.replace(IMPORT, (whole, before, specifier, after) =>
    specifier.startsWith('.') ? `${before}${nameOf(specifier)}.${extension}${after}` : whole,
  )
