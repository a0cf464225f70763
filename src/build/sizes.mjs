import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync, constants as zlib } from 'node:zlib'
import { bundleTracker, exportsOf } from './bundles.mjs'
import { root } from './install.mjs'
import { DEFAULT_SET, DEVICE_COOKIE, PART_SETS, PARTS, scriptFile } from './partSets.mjs'

/** Size of a text, bytes, compressed with brotli at quality 11, as the gateway serves the script. */
function brotliSize(text) {
  const bytes = Buffer.from(text)
  return brotliCompressSync(bytes, {
    params: { [zlib.BROTLI_PARAM_QUALITY]: 11, [zlib.BROTLI_PARAM_SIZE_HINT]: bytes.length },
  }).length
}

/**
 * Prints the sizes of the browser files in dist, and compares them with their budgets.
 *
 * @param budgets Brotli bytes by name of a file below dist, or of a part for what it adds, from package.json.
 * @returns A sentence for each fault.
 */
export function checkSizes(budgets) {
  const sizes = [...PART_SETS.map(scriptFile), ...FURTHER].map((file) =>
    measure(file, readFileSync(join(root, 'dist', file), 'utf8')),
  )
  const brotliOf = (set) => sizes.find(({ file }) => file === scriptFile(set)).brotli
  printTable(
    ['bytes', 'raw', 'gzip', 'brotli', 'budget'],
    sizes
      .filter(({ file }) => file in budgets || FURTHER.includes(file))
      .map(({ file, raw, gzip, brotli }) => [file, raw, gzip, brotli, budgets[file]]),
  )
  printTable(...tableOfSets(brotliOf))
  const margins = PART_NAMES.map((name) => ({
    file: name,
    brotli: marginOf(name, brotliOf),
  }))
  printTable(
    ['a part of the script, brotli', 'adds', 'budget'],
    margins.map(({ file, brotli }) => [file, brotli, budgets[file]]),
  )
  return findFaults([...sizes, ...margins], budgets)
}

const PART_NAMES = [DEVICE_COOKIE, ...PARTS]

/** Files that only some pages load. */
const FURTHER = [
  'inspector.js',
  'presence.js',
  'public/live/live.js',
  'public/campaigns/campaigns.js',
  'public/shop/shop.js',
]

/** A table of all sets: each cell has the size of the script with the parts of its row and of its column. */
function tableOfSets(brotliOf) {
  const columns = PART_SETS.filter((set) => set.every((part) => COLUMN_PARTS.includes(part)))
  const rows = PART_SETS.filter((set) => !set.some((part) => COLUMN_PARTS.includes(part)))
  const nameOf = (set) => set.join(' ') || 'core'
  return [
    ['the script with, brotli', ...columns.map(nameOf)],
    rows.map((row) => [
      nameOf(row),
      ...columns.map((column) =>
        brotliOf(PARTS.filter((part) => row.includes(part) || column.includes(part))),
      ),
    ]),
  ]
}

/** The parts that do not combine freely, because ga4 needs dataLayer. */
const COLUMN_PARTS = ['ga4', 'dataLayer']

/** The bytes that a part adds to the default set, or to the smallest set with which it is built. */
function marginOf(part, brotliOf) {
  const smallest = PART_SETS.filter((set) => set.includes(part)).sort((a, b) => a.length - b.length)
  const set = smallest[0].length > DEFAULT_SET.length ? smallest[0] : [...DEFAULT_SET, part]
  const has = (parts) => PART_NAMES.filter((name) => parts.includes(name))
  return brotliOf(has(set)) - brotliOf(has(set.filter((other) => other !== part)))
}

function measure(file, text) {
  const gzip = gzipSync(text, { level: 9 }).length
  return { file, raw: Buffer.byteLength(text), gzip, brotli: brotliSize(text) }
}

/** A sentence for each file above its budget, and for each budget of a file that is not built. */
export function findFaults(sizes, budgets) {
  return Object.entries(budgets).flatMap(([file, budget]) => {
    const brotli = sizes.find((size) => size.file === file)?.brotli
    if (brotli === undefined) return [`package.json has a budget for ${file}, which is not built`]
    if (brotli <= budget) return []
    return [
      `${file} has ${brotli} bytes (brotli), ${brotli - budget} above its budget of ${budget} ("budgetBrotliBytes" in package.json)`,
    ]
  })
}

/**
 * Prints the size of each feature of the script: by how many bytes the default script becomes smaller if that module's
 * code is removed. The calls of the module stay. Code that only this module uses is removed with it: track.ts is the
 * only user of the contract, so the figure of track.ts includes that of the contract. Code that two features share is
 * in neither figure.
 */
export async function printFeatureSizes(version) {
  const whole = await bundleTracker(version, DEFAULT_SET)
  const total = brotliSize(whole.code)
  const features = whole.inputs.filter(
    (path) => path.startsWith('src/tracker/') && path !== 'src/tracker/main.ts',
  )
  const rows = []
  for (const feature of [CONTRACT, ...features]) {
    const size = await sizeWithout(feature, version)
    rows.push([feature, total - size])
  }
  rows.sort((a, b) => b[1] - a[1])
  printTable(['marginal, brotli', 'bytes'], rows)
}

const CONTRACT = 'src/contract (with valibot)'

async function sizeWithout(feature, version) {
  const path = feature === CONTRACT ? 'src/contract/' : feature
  const replace = {
    name: 'replace',
    setup(build) {
      build.onLoad({ filter: /\.ts$/ }, async (args) => {
        const found = args.path.slice(root.length).replaceAll('\\', '/')
        if (feature === CONTRACT ? !found.startsWith(path) : found !== path) return
        return { contents: (await exportsOf(found)).map(unknownValue).join('\n') }
      })
    },
  }
  return brotliSize((await bundleTracker(version, DEFAULT_SET, [replace])).code)
}

/** Exports an unknown value. The minifier would remove the calls of a function that it knows to be empty. */
function unknownValue(name) {
  return name === 'default' ? 'export default $' : `export const ${name} = $`
}

function printTable(head, rows) {
  const cells = [head, ...rows].map((row) =>
    row.map((cell) => (typeof cell === 'number' ? cell.toLocaleString('en') : (cell ?? ''))),
  )
  const widths = head.map((_, column) => Math.max(...cells.map((row) => row[column].length)))
  for (const [first, ...rest] of cells) {
    const numbers = rest.map((cell, index) => cell.padStart(widths[index + 1]))
    console.log(['', first.padEnd(widths[0]), ...numbers].join('  ').trimEnd())
  }
  console.log()
}
