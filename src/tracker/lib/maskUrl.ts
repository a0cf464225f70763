/**
 * Names of query and fragment parameters whose values are secrets or e-mail addresses: the short words
 * alone (`code`, but not `discount_code`), the telling ones anywhere (`access_token`, `user[email]`).
 */
const SECRET =
  /^(access|auth|code|hash|jwt|key|otp|pass|pwd|sid|sig|ticket)$|e-?mail|passw(or)?d|secret|session|signature|token/i

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/**
 * An address without what must not leave the page: user and password, and in its query and fragment
 * the values of parameters that carry secrets or e-mail addresses (by name, by an @ in the value, or
 * inside an address that is itself a value). Such a value becomes `***`.
 *
 * @param more Further names of parameters to mask, compared without regard to case. Default none.
 */
export function maskUrl(url: string, more: readonly string[] = []): string {
  const names = more.map((name) => name.toLowerCase())
  return url
    .replace(/^(\w+:\/\/)[^/?#]*@/, '$1')
    .replace(/([?&#;])([^=&#;]+)=([^&#;]*)/g, (whole, before, name, value) => {
      const plain = decode(name)
      const inner = decode(value)
      return SECRET.test(plain) ||
        names.includes(plain.toLowerCase()) ||
        /@/.test(inner) ||
        (inner !== value && maskUrl(inner, more) !== inner)
        ? `${before}${name}=***`
        : whole
    })
}
