import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { compileScript, parse } from 'vue/compiler-sfc'

/** Where packages are resolved from: this one too, by its own name, so that its built entry is used. */
const folder = fileURLToPath(new URL('.', import.meta.url))

/**
 * Bundles a program for the page, as a shop's own build does.
 *
 * @param files Contents of modules by name, such as `./product.tsx`; `./main.tsx` is the program.
 * @param mode `development` is the build in which React's StrictMode runs effects twice.
 */
export async function bundle(
  files: { readonly [name: string]: string },
  mode: 'development' | 'production' = 'production',
): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: ['./main.tsx'],
    bundle: true,
    write: false,
    format: 'iife',
    jsx: 'automatic',
    logLevel: 'error',
    define: {
      'process.env.NODE_ENV': JSON.stringify(mode),
      __VUE_OPTIONS_API__: 'true',
      __VUE_PROD_DEVTOOLS__: 'false',
      __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: 'false',
    },
    plugins: [
      {
        name: 'files',
        setup({ onResolve, onLoad }) {
          onResolve({ filter: /.*/ }, ({ path, kind, namespace }) =>
            path in files && (kind === 'entry-point' || namespace === 'files')
              ? { path, namespace: 'files' }
              : undefined,
          )
          onLoad({ filter: /.*/, namespace: 'files' }, ({ path }) => {
            const contents = files[path] ?? ''
            return path.endsWith('.vue')
              ? { contents: compileVue(contents, path), loader: 'ts', resolveDir: folder }
              : { contents, loader: 'tsx', resolveDir: folder }
          })
        },
      },
    ],
  })
  return outputFiles?.[0]?.text ?? ''
}

/** The module of a Vue component. */
function compileVue(source: string, id: string): string {
  const { descriptor, errors } = parse(source, { filename: id })
  if (errors[0]) throw errors[0]
  return compileScript(descriptor, { id, inlineTemplate: true }).content
}
