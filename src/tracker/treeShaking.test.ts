import { build } from 'esbuild'
import { expect, test } from 'vitest'

test.each([
  ['createTracker', /parts\/|deviceCookie\.ts|consentSources\.ts|isExcluded\.ts/],
  ['createTracker, pageViews', /parts\/(?!pageViews)|deviceCookie\.ts/],
  ['createTracker, consent', /parts\/(?!consent\.ts)|consentSources\.ts/],
])('a bundle with { %s } contains no other part', async (names, others) => {
  const { metafile } = await build({
    stdin: {
      contents: `import { ${names} } from './index.ts'; console.log(${names})`,
      resolveDir: import.meta.dirname,
    },
    bundle: true,
    write: false,
    metafile: true,
    format: 'esm',
    target: 'es2021',
    outfile: 'out.js',
  })
  const inputs = Object.entries(metafile.outputs['out.js']?.inputs ?? {})
  const contained = inputs
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    .map(([path]) => path)
  expect(contained.join()).toMatch(/tracker\/flush\.ts/)
  expect(contained.filter((path) => others.test(path))).toEqual([])
})
