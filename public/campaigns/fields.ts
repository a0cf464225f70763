/** The fields of the form for a new campaign, in its order. */
import type { SignName } from '../operator/signs.tsx'
import type { Path } from './model.ts'

type Words = { readonly label: string; readonly hint?: string }

export type Field = Words & {
  /** The path in the contract. `scheduling.send_at` is one field of the contract and two values of the form. */
  readonly path: FieldPath
  /** Label and hint on channels other than e-mail, if they differ. */
  readonly otherChannels?: Partial<Words>
  readonly is: 'text' | 'email' | 'html' | 'choice' | 'moment'
  /** For a choice: value, name, icon. */
  readonly options?: readonly (readonly [string, string, SignName?])[]
  readonly placeholder?: string
  readonly wide?: boolean
}
export type FieldPath = Exclude<Path, 'scheduling.date' | 'scheduling.time'> | 'scheduling.send_at'

export const GROUPS: readonly {
  readonly title: string
  readonly hint?: string
  readonly fields: readonly Field[]
}[] = [
  {
    title: 'Channel',
    fields: [
      {
        path: 'type',
        label: 'Sent as',
        is: 'choice',
        options: [
          ['email', 'E-mail', 'email'],
          ['sms', 'SMS', 'sms'],
          ['push', 'Push', 'push'],
        ],
      },
      {
        path: 'mode',
        label: 'Mode',
        is: 'choice',
        options: [
          ['regular', 'Regular'],
          ['ecommerce', 'E-commerce'],
          ['plaintext', 'Plain text'],
        ],
      },
    ],
  },
  {
    title: 'Name and subject',
    fields: [
      {
        path: 'subject.name',
        label: 'Campaign name',
        hint: 'Only you see it.',
        is: 'text',
        placeholder: 'Autumn mugs',
        wide: true,
      },
      {
        path: 'subject.subject_line',
        label: 'Subject line',
        otherChannels: { label: 'Title' },
        is: 'text',
        placeholder: 'The autumn firing is out of the kiln',
        wide: true,
      },
      {
        path: 'subject.preview_text',
        label: 'Preview text',
        hint: 'Mail programs show it next to the subject.',
        otherChannels: { hint: 'It is shown next to the title.' },
        is: 'text',
        placeholder: 'Six new glazes, forty mugs of each.',
        wide: true,
      },
    ],
  },
  {
    title: 'Sender',
    fields: [
      { path: 'sender.name', label: 'Name', is: 'text', placeholder: 'Saltmarsh', wide: true },
      {
        path: 'sender.sender',
        label: 'From address',
        otherChannels: { label: 'The sender’s e-mail address' },
        is: 'email',
        placeholder: 'letters@shop.example',
      },
      {
        path: 'sender.reply_to',
        label: 'Replies go to',
        hint: 'The same address, unless you enter another.',
        otherChannels: { label: 'E-mail address for replies' },
        is: 'email',
        placeholder: 'letters@shop.example',
      },
    ],
  },
  {
    title: 'Content',
    fields: [
      {
        path: 'content.html',
        label: 'HTML',
        otherChannels: { label: 'Text, as HTML' },
        is: 'html',
        wide: true,
      },
    ],
  },
  {
    title: 'Audience',
    fields: [
      {
        path: 'audience.audience_type',
        label: 'Recipients',
        is: 'choice',
        options: [['all', 'Everybody']],
      },
      {
        path: 'audience.smart_sending',
        label: 'Smart sending',
        hint: 'Leaves out people who received a message recently.',
        is: 'choice',
        options: [
          ['true', 'On'],
          ['false', 'Off'],
        ],
      },
    ],
  },
  {
    title: 'Sending',
    hint: 'This gateway sends nothing itself. It stores these values for the service that sends.',
    fields: [
      { path: 'scheduling.send_at', label: 'Send at', is: 'moment' },
      {
        path: 'scheduling.optimize_for',
        label: 'Optimise for',
        is: 'choice',
        options: [
          ['opening', 'Opening'],
          ['buying', 'Buying'],
        ],
      },
      {
        path: 'scheduling.use_optimal_time',
        label: 'Best hour for each recipient',
        hint: 'Instead of the same time for all.',
        is: 'choice',
        options: [
          ['1', 'On'],
          ['0', 'Off'],
        ],
      },
    ],
  },
  {
    title: 'Tracking',
    hint: 'Visits whose address contains these three values count for the campaign.',
    fields: [
      {
        path: 'tracking.utm_campaign',
        label: 'utm_campaign',
        hint: 'Follows the name until you change it.',
        is: 'text',
        placeholder: 'autumn-mugs',
        wide: true,
      },
      { path: 'tracking.utm_medium', label: 'utm_medium', is: 'text', placeholder: 'email' },
      { path: 'tracking.utm_source', label: 'utm_source', is: 'text', placeholder: 'newsletter' },
    ],
  },
]

/** Every field by its path. */
export const FIELDS: ReadonlyMap<string, Field> = new Map(
  GROUPS.flatMap(({ fields }) => fields).map((field) => [field.path, field]),
)

/** The label and the hint of a field on a channel. */
export const wordsOf = ({ label, hint, otherChannels }: Field, type: string): Words => ({
  label,
  ...(hint !== undefined && { hint }),
  ...(type !== 'email' && otherChannels),
})

/** The name of an option in the form; the value itself if the form has no such option. */
export const wordOf = (path: FieldPath, value: string): string =>
  FIELDS.get(path)?.options?.find(([option]) => option === value)?.[1] ?? value

/**
 * An example e-mail.
 *
 * @param href The link, as an attribute's value with its quotation marks.
 */
export const exampleOf = (
  href: string,
) => `<div style="max-width: 520px; margin: 0 auto; font-family: Georgia, serif; color: #12262f">
  <p style="letter-spacing: .12em; text-transform: uppercase; font-size: 12px; color: #c8452c">The letter</p>
  <h1 style="font-size: 30px; line-height: 1.15">What we have been making</h1>
  <p style="font-size: 17px; line-height: 1.6">A few words on what is new, and why it is worth a look.</p>
  <p><a href=${href} style="display: inline-block; padding: 12px 22px; background: #12262f; color: #fff; text-decoration: none">See it in the shop</a></p>
</div>
`
