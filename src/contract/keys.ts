import { custom, object } from 'valibot'
import { isLongerThan, lengthOf } from './characters.ts'
import { kindOf } from './kindOf.ts'

/**
 * trackingKey: 6 to 20 characters, not blank. The message never shows the value: what stands in the
 * wrong place may be a secret.
 */
export const trackingKey = custom<string>(
  (value) =>
    typeof value === 'string' && !isLongerThan(value, 20) && lengthOf(value) >= 6 && !!value.trim(),
  ({ input }) =>
    `Expected a tracking key of 6 to 20 characters, not blank, received ${kindOf(input)}`,
)

export const serveJavascriptSchema = object({ trackingKey })
