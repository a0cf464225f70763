/**
 * The optional parts of the script, in the order in which they start. consent is first: it decides whether anything may
 * be read. dataLayer is last: it calls readers of others.
 */
export const PARTS = [
  'consent',
  'consentSources',
  'pageViews',
  'attributes',
  'ga4',
  'schemaOrg',
  'dataLayer',
]

/**
 * The part consentSources is functions of src/tracker/lib, which the part consent calls. They are in the configuration,
 * because each key of a page may come with another script.
 */
export const SOURCES = 'consentSources'
const SOURCE_FUNCTIONS = ['watchSources', 'isExcluded']

/** The parts of a key without settings. */
export const DEFAULT_SET = ['pageViews', 'attributes', 'dataLayer']

/**
 * A script with this name in its set keeps the device id in a cookie (src/tracker/deviceCookie.ts). This is no part: it is
 * there before the first of them starts.
 */
export const DEVICE_COOKIE = 'deviceCookie'

const PLAIN_SETS = Array.from({ length: 2 ** PARTS.length }, (_, bits) =>
  PARTS.filter((_part, index) => bits & (1 << index)),
).filter(
  (set) =>
    (!set.includes('ga4') || set.includes('dataLayer')) &&
    (!set.includes(SOURCES) || set.includes('consent')) &&
    (!set.includes('consent') || DEFAULT_SET.every((part) => set.includes(part))),
)

/**
 * Every set of parts that is built. ga4 needs dataLayer. consent comes only with the default set, and consentSources and
 * DEVICE_COOKIE only with consent, so that there are not eight times as many: what is in a script does nothing if its setting is off.
 */
export const PART_SETS = [
  ...PLAIN_SETS,
  ...PLAIN_SETS.filter((set) => set.includes('consent')).map((set) => [DEVICE_COOKIE, ...set]),
]

/** The file of the script with these parts: `track/core.js`, `track/pageViews-attributes-dataLayer.js`. */
export const scriptFile = (set) => `track/${set.join('-') || 'core'}.js`

/** The source of the script with these parts, a module in src/tracker. It uses `__config__`. */
export function entryOf(set) {
  const parts = set.filter((name) => name !== DEVICE_COOKIE && name !== SOURCES)
  const functions = set.includes(SOURCES) ? SOURCE_FUNCTIONS : []
  return [
    ...parts.map((part) => `import { ${part} } from './parts/${part}.ts'`),
    ...functions.map((name) => `import { ${name} } from './lib/${name}.ts'`),
    `import { main } from './main.ts'`,
    `main(${functions[0] ? `{ ...__config__, ${functions} }` : '__config__'}, { ${parts} })`,
  ].join('\n')
}
