/** One field of the form: its label, its control or controls, a hint, and room for a note and for its faults. */
import type { ComponentChildren, TargetedEvent } from 'preact'
import { Sign } from '../operator/signs.tsx'
import { type Field as FieldOf, wordsOf } from './fields.ts'
import type { Path, Values } from './model.ts'

type Props = {
  readonly field: FieldOf
  readonly values: Values
  /** A warning about a valid value; '' for none. */
  readonly note: string
  /** As a sentence. */
  readonly fault: string | undefined
  readonly onChange: (path: Path, value: string) => void
  /** Buttons next to the label. */
  readonly tools?: ComponentChildren
}

type Control = HTMLInputElement | HTMLTextAreaElement

export function Field({ field, values, note, fault, onChange, tools }: Props) {
  const { path, is, wide, options, placeholder } = field
  const { label, hint } = wordsOf(field, values.type)
  const id = `f-${path.replace('.', '-')}`

  /** Attributes that every control has. */
  const attributes = (name: Path) => ({
    name,
    'aria-describedby': `${hint ? `${id}-hint ` : ''}${id}-note ${id}-wrong`,
    'aria-invalid': fault ? ('true' as const) : undefined,
    'data-test': name,
  })
  const textual = (name: Path) => ({
    ...attributes(name),
    value: values[name],
    onInput: ({ currentTarget }: TargetedEvent<Control>) => onChange(name, currentTarget.value),
  })

  const isGroup = is === 'choice' || is === 'moment'
  return (
    <div
      class={`field is-${is}${wide ? ' wide' : ''}${fault ? ' is-wrong' : ''}`}
      {...(isGroup && { role: 'group', 'aria-labelledby': `${id}-label` })}
      data-path={path}
    >
      <div class="label">
        {isGroup ? <span id={`${id}-label`}>{label}</span> : <label for={id}>{label}</label>}
        {tools}
      </div>
      {control()}
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      <p class="hint note" id={`${id}-note`} data-test={`note-${path}`}>
        {note}
      </p>
      <p class="wrong" id={`${id}-wrong`} data-test={`wrong-${path}`}>
        {fault}
      </p>
    </div>
  )

  function control() {
    if (path === 'scheduling.send_at')
      return (
        <div class="moment">
          <input type="date" aria-label="Day" {...textual('scheduling.date')} />
          <input type="time" aria-label="Time" {...textual('scheduling.time')} />
        </div>
      )
    if (is === 'choice')
      return (
        <div class="segments">
          {options?.map(([value, name, sign]) => (
            <label key={value}>
              <input
                type="radio"
                {...attributes(path)}
                value={value}
                checked={values[path] === value}
                onChange={() => onChange(path, value)}
                data-test={`${path}=${value}`}
              />
              {sign && <Sign name={sign} />}
              <span>{name}</span>
            </label>
          ))}
        </div>
      )
    if (is === 'html')
      return (
        <textarea
          id={id}
          rows={12}
          wrap="off"
          spellcheck={false}
          placeholder={placeholder}
          {...textual(path)}
        />
      )
    // Not `type="email"`: the browser would trim and validate by its own rules. `toCampaign` trims, and the gateway
    // validates.
    return (
      <input
        id={id}
        type="text"
        inputMode={is === 'email' ? 'email' : undefined}
        placeholder={placeholder}
        {...textual(path)}
      />
    )
  }
}
