/** Whether a switch is on: `true`, and from an attribute of the script's tag `"true"` or nothing. */
export const isOn = (setting: unknown): boolean => /^(true)?$/.test(`${setting}`)
