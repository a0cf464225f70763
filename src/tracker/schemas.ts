import { createEventSchemas } from '../contract/events.ts'
import { optionalAgent, optionalText, pageUrl } from '../contract/fields.ts'

/**
 * The schema of each helper's payload, in the page form: what the gateway completes may be missing. By
 * a name that is no helper's there is none: pages and attributes name `constructor` too.
 */
export const schemas = {
  __proto__: null,
  ...createEventSchemas(pageUrl, optionalAgent, optionalText),
}
