/**
 * The optional parts of the script, in the order in which they start. consent is first: it decides whether anything may
 * be read. dataLayer is last: it calls readers of others.
 */
export const PARTS = ['consent', 'pageViews', 'attributes', 'ga4', 'schemaOrg', 'dataLayer']

/** The parts of a key without settings. */
export const DEFAULT_SET = ['pageViews', 'attributes', 'dataLayer']

/**
 * Every set of parts that is built. ga4 needs dataLayer. consent comes only with the default set, so that there are not
 * twice as many: a part does nothing if its setting is off.
 */
export const PART_SETS = Array.from({ length: 2 ** PARTS.length }, (_, bits) =>
  PARTS.filter((_part, index) => bits & (1 << index)),
).filter(
  (set) =>
    (!set.includes('ga4') || set.includes('dataLayer')) &&
    (!set.includes('consent') || DEFAULT_SET.every((part) => set.includes(part))),
)

/** The file of the script with these parts: `track/core.js`, `track/pageViews-attributes-dataLayer.js`. */
export const scriptFile = (set) => `track/${set.join('-') || 'core'}.js`
