import { custom, object } from 'valibot'
import { isLongerThan, lengthOf } from './characters.ts'

/** A tracking key: 6 to 20 characters, not blank. */
const trackingKey = custom<string>(
  (value) =>
    typeof value === 'string' && !isLongerThan(value, 20) && lengthOf(value) >= 6 && !!value.trim(),
  'a tracking key of 6 to 20 characters, not blank',
)

export const serveJavascriptSchema = object({ trackingKey })
