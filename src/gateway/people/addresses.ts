import { addressOf } from './addressOf.ts'

/** The fields with the address of an event's visitor: that of setEmail, and that of sendCustom and sendCustomApi. */
const FIELDS = ['email_address', 'email']

/** The addresses in an event. */
export type Mention = {
  /** The address that the event gives as its visitor's, as `addressOf` compares it. Undefined if it gives none. */
  readonly given: string | undefined
  /** Whether the event has the searched address anywhere: as its visitor's, or in another text such as the URL. */
  readonly isCarried: boolean
}

/**
 * Finds addresses in an event.
 *
 * @param payload JSON, as the log has it.
 * @param searched An address, as `addressOf` returns it. Default: finds only the address that the event gives.
 */
export function findMention(payload: string, searched?: string): Mention {
  const texts = textsOf(payload)
  const field = texts.find(([name]) => FIELDS.includes(name))?.[1]
  const given = field === undefined ? undefined : addressOf(field)
  const isCarried =
    searched !== undefined &&
    (given === searched ||
      // An address field was compared as a whole: `o'brien@…` is not `brien@…`.
      texts.some(([name, text]) => !FIELDS.includes(name) && hasAddress(text, searched)))
  return { given, isCarried }
}

type Text = readonly [name: string, text: string]

/** The texts of a payload, with the names of their fields. None if it is not JSON. */
function textsOf(payload: string): Text[] {
  try {
    return textsIn('', JSON.parse(payload))
  } catch {
    // The gateway stores only JSON. A damaged row does not stop the search.
    return []
  }
}

function textsIn(name: string, value: unknown): Text[] {
  if (typeof value === 'string') return [[name, value]]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => textsIn(key, inner))
}

/** The domain after an `@`. */
const DOMAIN = /@([\p{L}\p{M}\p{N}][\p{L}\p{M}\p{N}.-]*)/gu
/**
 * A local part that goes on to the left. Characters such as `=` and `/` may be in one too, but before an address in a
 * URL they separate. An apostrophe at the beginning is a quotation mark.
 */
const GOES_ON = /[\p{L}\p{M}\p{N}._%+-]'?$/u

/** Whether a text contains an address as a whole: `anna@…` is not in `joanna@…`, nor `…@shop.test` in `…@shop.test.example`. */
function hasAddress(text: string, searched: string): boolean {
  if (!/@|%40/.test(text)) return false
  const plain = decode(text).normalize('NFC').toLowerCase()
  const local = searched.slice(0, searched.lastIndexOf('@'))
  for (const found of plain.matchAll(DOMAIN)) {
    const before = plain.slice(Math.max(0, found.index - local.length - 3), found.index)
    if (!before.endsWith(local) || GOES_ON.test(before.slice(0, before.length - local.length)))
      continue
    const domain = (found[1] as string).replace(/[.-]+$/, '')
    if (domain.length <= MAX_DOMAIN && addressOf(`${local}@${domain}`) === searched) return true
  }
  return false
}

/** No address has a longer domain. Converting a long one to ASCII takes quadratic time. */
const MAX_DOMAIN = 253

/** A text with its percent-encoding decoded, as URLs have it. What can not be decoded stays. */
const decode = (text: string): string =>
  text.replace(/(?:%[\da-f]{2})+/gi, (escapes) => {
    try {
      return decodeURIComponent(escapes)
    } catch {
      return escapes.replaceAll('%40', '@')
    }
  })
