import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Bytes. The README is short, so that it is read to its end. Everything else is in docs. */
const MAX_README_BYTES = 9_000

/** Files by their paths in the repository. */
type Files = ReadonlyMap<string, string>

/** Text files below a folder. Fixtures count too: their descriptions cite pages. */
function readFolder(folder: string, names: RegExp): [string, string][] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((path) => join(folder, path))
    .filter((path) => names.test(path))
    .map((path): [string, string] => [path, readFileSync(join(root, path), 'utf8')])
}

const readFile = (path: string): [string, string] => [path, readFileSync(join(root, path), 'utf8')]

const pages: Files = new Map([
  ...['README.md', 'CHANGELOG.md', 'public/shop/README.md'].map(readFile),
  ...readFolder('docs', /\.md$/),
])
const code: Files = new Map([
  ...['src', 'public', 'e2e'].flatMap((folder) =>
    readFolder(folder, /\.(m?[jt]sx?|css|html|json)$/),
  ),
  readFile('build.mjs'),
])

/** Markdown without the blocks that show code. */
const prose = (text: string): string => text.replace(/^```.*?^```/gms, '')

const headingsOf = (text: string): string[] =>
  [...prose(text).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading.replaceAll('`', ''))

/** The anchor that code hosts give a heading: lower case, hyphens for spaces, no other punctuation. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')

/** Targets of the links and images of a page that are not addresses of other sites. */
const linksOf = (text: string): string[] =>
  [...prose(text).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^\w+:/.test(target))

/** The links of a page whose target does not exist. */
function findBrokenLinks(page: string, files: Files, exists: (path: string) => boolean): string[] {
  return linksOf(files.get(page) ?? '').filter((target) => {
    const [path = '', anchor] = target.split('#', 2)
    const file = path ? join(dirname(page), path) : page
    if (anchor === undefined) return !exists(file)
    return !headingsOf(files.get(file) ?? '').some((heading) => anchorOf(heading) === anchor)
  })
}

/**
 * The citations in a source whose target does not exist. A citation is the path of a page in the repository, and
 * optionally a heading in quotation marks after it. It may be on two lines of a comment.
 */
function findBrokenCitations(source: string, files: Files): string[] {
  const text = source.replaceAll('\\"', '"').replace(/\n\s*(?:\*|\/\/)? */g, ' ')
  return [...text.matchAll(/([\w./%-]+\.md)\b(?:, "([^"]+)")?/g)]
    .filter(([, path = '', heading]) => {
      if (path.startsWith('//')) return false
      const page = files.get(path)
      return page === undefined || (heading !== undefined && !headingsOf(page).includes(heading))
    })
    .map(([citation]) => citation)
}

test.each([...pages.keys()])('every link of %s has a target', (page) => {
  expect(findBrokenLinks(page, pages, (path) => existsSync(join(root, path)))).toEqual([])
})

/** Paths from the root of the repository that a page has as inline code. */
const pathsOf = (text: string): string[] =>
  [...prose(text).matchAll(/`((?:src|public|e2e)(?:\/[\w.-]+)+)`/g)].map(([, path = '']) => path)

test('every path that a page names exists', () => {
  const paths = [...pages].flatMap(([page, text]) =>
    page === 'CHANGELOG.md' ? [] : pathsOf(text).map((path) => [page, path] as const),
  )
  expect(paths.length).toBeGreaterThan(20)
  expect(paths.filter(([, path]) => !existsSync(join(root, path)))).toEqual([])
})

test('every page that the code cites exists, with the heading', () => {
  const broken = [...code].flatMap(([path, source]) =>
    path === 'src/docs.test.ts'
      ? []
      : findBrokenCitations(source, pages).map((citation) => `${path}: ${citation}`),
  )
  expect(broken).toEqual([])
})

test('the code cites decisions', () => {
  const cited = [...code.values()].filter((source) => source.includes('docs/decisions.md, "'))
  expect(cited.length).toBeGreaterThan(5)
})

test('the README is short and links every page', () => {
  const readme = pages.get('README.md') ?? ''
  expect(Buffer.byteLength(readme)).toBeLessThanOrEqual(MAX_README_BYTES)
  const linked = linksOf(readme).map((target) => target.split('#', 1)[0])
  // The guides have a list of their own (src/guides.test.ts).
  const docs = [...pages.keys()].filter((path) => /^docs\/([^/]+|guides\/README\.md)$/.test(path))
  expect(docs.length).toBeGreaterThan(8)
  expect(docs.filter((path) => !linked.includes(path))).toEqual([])
})

const EXAMPLE: Files = new Map([
  ['docs/a.md', '# A page\n\n## schema.org & `GA4`\n\n```\n# no heading [x](no-link.md)\n```\n'],
  [
    'docs/b.md',
    '[a](a.md) [b](a.md#schemaorg--ga4) [c](#b) [d](../LICENSE) [e](https://x.example/y.md)\n# B\n',
  ],
])
const exists = (path: string) => EXAMPLE.has(path) || path === 'LICENSE'

test('valid links and citations pass', () => {
  expect(findBrokenLinks('docs/a.md', EXAMPLE, exists)).toEqual([])
  expect(findBrokenLinks('docs/b.md', EXAMPLE, exists)).toEqual([])
  const source =
    '/** (docs/a.md, "A page"), docs/b.md,\n * "B"; https://x.example/y.md, docs/a.md */'
  expect(findBrokenCitations(source, EXAMPLE)).toEqual([])
})

test.each(['c.md', '../a.md', 'a.md#b', '#a-page', '../LICENSE.txt'])(
  'a link to %s is broken',
  (target) => {
    const files = new Map([...EXAMPLE, ['docs/b.md', `# B\n[x](${target})`] as const])
    expect(findBrokenLinks('docs/b.md', files, exists)).toEqual([target])
  },
)

test.each([
  ['a page that does not exist', '// decisions.md, "Answers"', 'decisions.md, "Answers"'],
  ['another heading', '/** docs/a.md, "B". */', 'docs/a.md, "B"'],
  ['one on the next line', '  // See docs/a.md,\n  // "B".', 'docs/a.md, "B"'],
  ['one in JSON', '"(docs/b.md, \\"A\\")"', 'docs/b.md, "A"'],
  ['code that looks like a heading', '// docs/a.md, "no heading"', 'docs/a.md, "no heading"'],
])('a citation of %s is broken', (_, source, citation) => {
  expect(findBrokenCitations(source, EXAMPLE)).toEqual([citation])
})
