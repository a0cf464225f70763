/** The optional parts of the script, in the order in which they start. dataLayer is last: it calls readers of others. */
export const PARTS = ['pageViews', 'attributes', 'ga4', 'schemaOrg', 'dataLayer']

/** Every set of parts that the settings of a key can need. ga4 needs dataLayer. */
export const PART_SETS = Array.from({ length: 2 ** PARTS.length }, (_, bits) =>
  PARTS.filter((_part, index) => bits & (1 << index)),
).filter((set) => !set.includes('ga4') || set.includes('dataLayer'))

/** The file of the script with these parts: `track/core.js`, `track/pageViews-attributes-dataLayer.js`. */
export const scriptFile = (set) => `track/${set.join('-') || 'core'}.js`
