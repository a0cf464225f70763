import { custom, object } from 'valibot'
import { lengthOf } from './fields.ts'
import { kindOf } from './kindOf.ts'

/**
 * trackingKey: 6 to 20 characters, not blank. The message never shows the value: what stands in the
 * wrong place may be a secret.
 */
export const trackingKey = custom<string>(
  (value) => {
    if (typeof value !== 'string' || !value.trim()) return false
    const length = lengthOf(value)
    return length >= 6 && length <= 20
  },
  ({ input }) =>
    `Expected a tracking key of 6 to 20 characters, not blank, received ${kindOf(input)}`,
)

export const serveJavascriptSchema = object({ trackingKey })
