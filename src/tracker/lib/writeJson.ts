/**
 * A checked payload as JSON. Objects are walked here and only primitives go through `JSON.stringify`,
 * since old frameworks give arrays and objects a `toJSON` that encodes them twice.
 */
export const writeJson = (value: unknown): string =>
  value && typeof value === 'object'
    ? `{${Object.keys(value)
        .map((name) => `${JSON.stringify(name)}:${writeJson((value as never)[name])}`)
        .join()}}`
    : JSON.stringify(value)
