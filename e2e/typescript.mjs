import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { transform } from 'esbuild'

/** A loader hook for Node: removes the types from TypeScript, which Node 20 can not do by itself. */
export async function load(url, context, nextLoad) {
  if (!url.startsWith('file:') || !url.endsWith('.ts')) return nextLoad(url, context)
  const { code } = await transform(await readFile(fileURLToPath(url), 'utf8'), {
    loader: 'ts',
    format: 'esm',
    target: 'node20',
    sourcefile: url,
    sourcemap: 'inline',
  })
  return { format: 'module', source: code, shortCircuit: true }
}
