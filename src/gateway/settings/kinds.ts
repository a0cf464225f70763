import {
  check,
  type GenericSchema,
  type InferOutput,
  picklist,
  pipe,
  string,
  transform,
} from 'valibot'

/** One setting of the gateway. */
export type Setting = {
  /** Checks the text of the setting and makes its value. */
  readonly type: GenericSchema<string, unknown>
  /** The value if the setting is absent, as a user would write it. Without it the value is undefined. */
  readonly default?: string
  /** What the help says in place of a default. Default: `none`. */
  readonly otherwise?: string
  /** Whether the value is never printed. */
  readonly isSecret?: true
  /** Unit, bounds and purpose, for the help. */
  readonly doc: string
}

export type SettingsTable = { readonly [name: string]: Setting }

/** The values of a table. Undefined if a setting is absent and has no default. */
export type ValuesOf<Table extends SettingsTable> = {
  readonly [Name in keyof Table]:
    | InferOutput<Table[Name]['type']>
    | (Table[Name] extends { readonly default: string } ? never : undefined)
}

/** A whole number in decimal digits. */
export const whole = (from: number, to: number) =>
  pipe(
    string(),
    check(
      (text) => /^\d{1,15}$/.test(text) && Number(text) >= from && Number(text) <= to,
      `Expected a whole number from ${from} to ${to}`,
    ),
    transform(Number),
  )

export const port = pipe(
  string(),
  check((text) => /^\d{1,5}$/.test(text) && Number(text) <= 65_535, 'Expected a port, 0 to 65535'),
  transform(Number),
)

export const onOff = pipe(
  picklist(['on', 'off', 'true', 'false', '1', '0'], 'Expected on or off'),
  transform((word) => ['on', 'true', '1'].includes(word)),
)

/** One of some words. */
export const oneOf = <const Words extends readonly string[]>(words: Words) =>
  picklist(words, `Expected ${words.slice(0, -1).join(', ')} or ${words.at(-1)}`)
