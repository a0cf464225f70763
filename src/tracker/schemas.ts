import { createEventSchemas } from '../contract/events.ts'
import { optionalAgent, optionalText, pageUrl } from '../contract/fields.ts'

/** The schema of each helper's payload, in the page form. Without a prototype: attributes may say `constructor`. */
export const schemas = {
  __proto__: null,
  ...createEventSchemas(pageUrl, optionalAgent, optionalText),
}
