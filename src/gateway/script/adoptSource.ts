import {
  type AdoptSettings,
  type AdoptSource,
  DATA_LAYER_PREFIX,
  type KeySettings,
} from '../../contract/settings.ts'

/**
 * The id in the cookie of the script that plugins with the default prefix were made for: flat JSON such as
 * `{"did":"…","k":"…"}`, plain or percent-encoded. Written by hand, since it is in almost every shop's script: the
 * expression of the same setting has 100 bytes more.
 */
const USUAL = '\\b__sm__c=[^;]*["2]did(?:%..|[": ])+(?!undefined)([\\w.-]{8,64})["%]'

/**
 * Where the script finds the id that another script gave a visitor. The regular expression is made here, so that the
 * script needs no code for JSON and percent-encoding. Every character of a setting is escaped in it. No two of its
 * repeated parts can match the same characters, so its time grows with the length of the text.
 *
 * @returns undefined if no id is adopted.
 */
export function toAdoptSource(settings: KeySettings): AdoptSource | undefined {
  const { adoptDid = true, dataLayerPrefix = DATA_LAYER_PREFIX } = settings
  if (adoptDid === true) return dataLayerPrefix === DATA_LAYER_PREFIX ? [USUAL] : undefined
  if (!adoptDid || !(adoptDid.cookie ?? adoptDid.storage)) return undefined
  const { storage } = adoptDid
  return storage ? [toPattern(adoptDid), storage] : [toPattern(adoptDid)]
}

/**
 * Regular expressions of the characters of JSON. In a cookie some scripts percent-encode all of them, some only a few,
 * some none.
 */
const IN_COOKIE = {
  quote: '(?:"|%22)',
  colon: '(?::|%3[Aa])',
  comma: '(?:,|%2[Cc])',
  space: '(?:\\s|\\+|%20)*',
  open: '(?:[[{]|%[57][Bb])',
  close: '(?:[\\]}]|%[57][Dd])',
  other: '(?!%[57][BDbd])[^[\\]{};]',
  end: '(?=;|$)',
}
const IN_STORAGE: typeof IN_COOKIE = {
  quote: '"',
  colon: ':',
  comma: ',',
  space: '\\s*',
  open: '[[{]',
  close: '[\\]}]',
  other: '[^[\\]{}]',
  end: '$',
}

function toPattern({ cookie, storage, path }: AdoptSettings): string {
  const text = storage ? IN_STORAGE : IN_COOKIE
  const { quote, colon, comma, space, open, close, other } = text
  const name = storage ? '^' : `(?:^|; )${escapeText(cookie ?? '')}=`
  // Fields in front of the wanted one. Objects and lists in them may be two deep; below others no id is found.
  const inner = `${open}(?:${other})*${close}`
  const value = `${open}(?:${other}|${inner})*${close}`
  const before = `(?:(?:${other}|${value})*?${comma}${space})?`
  const fields = path?.split('.').map((field) => {
    const key = storage ? escapeText(field) : escapeEncoded(field)
    return `${space}${open}${space}${before}${quote}${key}${quote}${space}${colon}${space}`
  })
  const end = fields ? `${space}(?:${comma}|${close})` : text.end
  // An id in quotes, or a bare one: the whole value, or a number in JSON. Text that stands for no id is left out: the
  // UUID of zeros, and what a script has stored before it had an id.
  return `${name}${fields?.join('') ?? ''}(?:${quote}(?=[\\w.-]+${quote})|(?=[\\w.-]+${end}))(?!undefined|0{8}-)([\\w.-]{8,64})(?![\\w.-])`
}

/** A text as a regular expression that matches only this text. */
const escapeText = (text: string): string =>
  text.replace(/\W/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** The same, where each character may also be percent-encoded. Without halves of surrogates, which have no encoding. */
const escapeEncoded = (text: string): string =>
  Array.from(text.replace(/\p{Cs}/gu, ''), (character) => {
    const encoded = encodeURIComponent(character)
    return encoded === character
      ? escapeText(character)
      : `(?:${escapeText(character)}|${escapeText(encoded)})`
  }).join('')
