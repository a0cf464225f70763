import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build, type Metafile } from 'esbuild'
import { expect, test } from 'vitest'

/**
 * The way of an event (docs/how-it-works.md), top to bottom: a file may import from its own line and from
 * those below it, never from one above. Of delivery, flush has a line of its own: it takes from the outbox
 * and gives to the transport, which do not know it.
 */
const LINES: readonly (readonly string[])[] = [
  ['main'],
  ['helpers', 'earlyCalls', 'parts', 'debug'],
  ['track', 'duplicates'],
  ['payload', 'deviceId', 'schemas'],
  ['flush'],
  ['outbox', 'transport'],
  ['notices', 'config'],
]

/** Where the way asks another order of two files of one line: the first imports the second, not back. */
const BELOW: readonly (readonly [string, string])[] = [['transport', 'outbox']]

type Edge = readonly [from: string, to: string]

/**
 * What a part may import beside the library and the contract. A second key on a page may bring a part
 * with a copy of the script that does not run: what has a state is the running copy's, and handed over.
 */
const STATELESS = ['schemas']

const root = fileURLToPath(new URL('../..', import.meta.url))
const parts = readdirSync(new URL('parts', import.meta.url))
  .filter((file) => /^\w+\.ts$/.test(file))
  .map((file) => `src/tracker/parts/${file}`)

/** Every import between our own files that is left at run time, by their paths below src. */
async function edgesOf(...entries: string[]): Promise<{ edges: Edge[]; inputs: string[] }> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: entries,
    outdir: 'out',
    bundle: true,
    write: false,
    metafile: true,
    logLevel: 'error',
  })
  const inputs = Object.keys(metafile.inputs)
  return { inputs, edges: importsOf(metafile) }
}

const importsOf = ({ inputs }: Metafile): Edge[] =>
  Object.entries(inputs).flatMap(([from, { imports }]) =>
    imports.flatMap(({ path }): Edge[] =>
      path.includes('node_modules') || from.includes('node_modules')
        ? []
        : [[from.replace('src/', ''), path.replace('src/', '')]],
    ),
  )

const nameOf = (path: string) => path.replace(/^tracker\/|\.ts$/g, '')
const lineOf = (path: string) => LINES.findIndex((names) => names.includes(nameOf(path)))

/** What is wrong with an import; nothing where it is right. */
function faultOf([from, to]: Edge): string | undefined {
  const edge = `${from} imports ${to}`
  const isContract = to.startsWith('contract/')
  if (from.startsWith('contract/')) return isContract ? undefined : edge
  if (from.startsWith('tracker/lib/'))
    return isContract || to.startsWith('tracker/lib/') ? undefined : edge
  if (isContract || to.startsWith('tracker/lib/')) return
  if (from.startsWith('tracker/parts/')) return STATELESS.includes(nameOf(to)) ? undefined : edge
  const [above, below] = [lineOf(from), lineOf(to)]
  if (above < 0 || below < 0) return `${edge}: one of them has no line`
  const isBack = BELOW.some(([first, second]) => nameOf(from) === second && nameOf(to) === first)
  return above > below || isBack ? edge : undefined
}

test('a later line never imports an earlier one', async () => {
  const { edges } = await edgesOf('src/tracker/main.ts', ...parts)
  expect(edges.length).toBeGreaterThan(30)
  expect(edges.map(faultOf).filter((fault) => fault !== undefined)).toEqual([])
})

test('a part reaches no module that has a state', async () => {
  const { inputs } = await edgesOf(...parts)
  const ours = inputs.filter((path) => path.startsWith('src/'))
  expect(ours).toContain('src/tracker/schemas.ts')
  // The one kept there is a pattern, the same in every copy.
  const stateful = ours.filter(
    (path) => path !== 'src/contract/fields.ts' && STATE.test(readFileSync(root + path, 'utf8')),
  )
  expect(stateful).toEqual([])
})

test('the script that pages load for their elements brings no second copy of the first', async () => {
  const { inputs } = await edgesOf('src/tracker/presence/main.ts')
  expect(inputs).toContain('src/tracker/presence/createWatch.ts')
  expect(inputs.filter((path) => !/^src\/tracker\/(presence|lib)\//.test(path))).toEqual([])
})

/** A variable of the module that changes, or a collection that fills. */
const STATE = /^(export )?(let|const \w+.*= new (Weak)?(Map|Set)\b)/m

test('what counts as a state', () => {
  for (const state of ['let last = 0', 'const all = new Map<string, Entry>()', 'export let x'])
    expect(`import a from 'a'\n${state}`).toMatch(STATE)
  expect('function f() {\n  let own = 0\n}\nconst fixed = 1').not.toMatch(STATE)
})

test('the script holds the tracker, the contract and valibot, and nothing else', async () => {
  const { inputs } = await edgesOf('src/tracker/main.ts')
  const foreign = inputs.filter(
    (path) =>
      !/^(src\/tracker\/(?!parts\/|inspector\/)|src\/contract\/|node_modules\/valibot\/)/.test(
        path,
      ),
  )
  expect(foreign).toEqual([])
  for (const part of ['campaigns.ts', 'keys.ts', 'index.ts'])
    expect(inputs).not.toContain(`src/contract/${part}`)
})

test.each<Edge>([
  ['tracker/outbox.ts', 'tracker/track.ts'],
  ['tracker/outbox.ts', 'tracker/transport.ts'],
  ['tracker/outbox.ts', 'tracker/flush.ts'],
  ['tracker/transport.ts', 'tracker/flush.ts'],
  ['tracker/flush.ts', 'tracker/payload.ts'],
  ['tracker/payload.ts', 'tracker/track.ts'],
  ['tracker/track.ts', 'tracker/helpers.ts'],
  ['tracker/notices.ts', 'tracker/track.ts'],
  ['tracker/helpers.ts', 'tracker/main.ts'],
  ['tracker/main.ts', 'tracker/parts/ga4.ts'],
  ['tracker/parts/ga4.ts', 'tracker/track.ts'],
  ['tracker/parts/ga4.ts', 'tracker/parts/dataLayer.ts'],
  ['tracker/lib/now.ts', 'tracker/config.ts'],
  ['tracker/track.ts', 'gateway/collect.ts'],
  ['contract/events.ts', 'tracker/lib/now.ts'],
  ['tracker/lib/now.ts', 'gateway/moment.ts'],
])('%s may not import %s', (from, to) => {
  expect(faultOf([from, to])).toContain(`${from} imports ${to}`)
})
