import { createEventSchemas } from '../contract/events.ts'
import { optionalText } from '../contract/fields.ts'

/** The schema of each helper's payload, in the page form: what the gateway completes may be missing. */
export const schemas = createEventSchemas(optionalText)
