import { boolean, custom, nullish, object, optional } from 'valibot'
import { lengthOf } from './characters.ts'
import {
  count,
  email,
  isBounded,
  MAX_TEXT_CHARACTERS,
  oneOf,
  rule,
  shortText,
  text,
} from './fields.ts'

/** The longest `content.html`, characters (code points). */
export const MAX_HTML_CHARACTERS = 512_000
/** With `lengthOf`, because `isLongerThan` takes 100 ms for half a million characters. */
const isHtmlLength = (html: string): boolean =>
  lengthOf(html.slice(0, 2 * MAX_HTML_CHARACTERS + 2)) <= MAX_HTML_CHARACTERS

/** A date and time that the calendar has, as `YYYY-MM-DD HH:MM`, past or future, without a time zone. */
const isDateTime = (value: unknown): boolean => {
  const match = typeof value === 'string' && /^(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d)$/.exec(value)
  if (!match) return false
  const at = new Date(`${match[1]}-${match[2]}-${match[3]}T${match[4]}:${match[5]}:00Z`)
  return !Number.isNaN(+at) && at.toISOString().slice(0, 16).replace('T', ' ') === value
}

/** Converts a filter that is empty, blank or null to undefined, so `check` leaves it out. */
const filter = rule<string | null | undefined, string | undefined>(
  (value) => isBounded(value ?? ''),
  'text',
  (given) => (given?.trim() ? given : undefined),
)

/** Body of list. Every filter is optional. */
export const listSchema = object({
  filters: optional(filter),
  search: optional(filter),
  type: optional(filter),
  start_date: optional(filter),
  page: optional(filter),
  limit: optional(filter),
})

/** Body of create. Every key is required, nested ones too. */
export const createSchema = object({
  type: oneOf(['sms', 'email', 'push']),
  mode: oneOf(['ecommerce', 'regular', 'plaintext']),
  sender: object({ name: text, sender: email, reply_to: email }),
  audience: object({
    audience_type: oneOf(['all']),
    smart_sending: boolean('true or false'),
  }),
  subject: object({ name: text, subject_line: text, preview_text: text }),
  content: object({
    html: custom<string>(
      (value) => typeof value === 'string' && isHtmlLength(value) && !!value.trim(),
      `HTML of 1 to ${MAX_HTML_CHARACTERS} characters, not blank`,
    ),
  }),
  scheduling: object({
    send_at: custom<string>(isDateTime, 'a date and time as YYYY-MM-DD HH:MM'),
    use_optimal_time: oneOf([0, 1]),
    optimize_for: oneOf(['opening', 'buying']),
  }),
  tracking: object({ utm_campaign: text, utm_medium: text, utm_source: text }),
})

/** `id` is sent as one path segment, so it must be well-formed Unicode, and not `.` or `..`. `bots` may be absent. */
export const getEmailReportSchema = object({
  id: custom<string>((value) => {
    if (!isBounded(value) || !value.trim() || /^\.\.?$/.test(value)) return false
    try {
      return !!encodeURIComponent(value)
    } catch {
      return false
    }
  }, `a campaign id of 1 to ${MAX_TEXT_CHARACTERS} characters that can be a segment of a path`),
  bots: nullish(oneOf(['include', 'exclude'])),
})

/** `limit` is a whole number from 1, or absent. */
export const getLatestCampaignSchema = object({ limit: nullish(count) })

/** Body of sendCustomApi: a custom event without the fields that pages send. */
export const sendCustomApiSchema = object({ email, event: shortText })
