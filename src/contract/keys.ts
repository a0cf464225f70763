import { custom, object } from 'valibot'
import { lengthOf } from './fields.ts'

/**
 * trackingKey: 6 to 20 characters, not blank. The message never shows the value: what stands in the
 * wrong place may be a secret.
 */
export const trackingKey = custom<string>((value) => {
  if (typeof value !== 'string' || !value.trim()) return false
  const length = lengthOf(value)
  return length >= 6 && length <= 20
}, 'Expected a tracking key of 6 to 20 characters')

export const serveJavascriptSchema = object({ trackingKey })

/** Any UUID in its usual text form (RFC 9562). Device ids are version 4, event ids version 7. */
export const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i
