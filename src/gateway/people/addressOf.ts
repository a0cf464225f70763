import { domainToASCII } from 'node:url'

/**
 * The form in which two e-mail addresses are compared (docs/decisions.md, A person's data): without regard to case,
 * with composed characters, and with the ASCII form of the domain (UTS 46). Dots and tags of the local part stay.
 */
export function addressOf(address: string): string {
  const at = address.lastIndexOf('@')
  const domain = address.slice(at + 1).normalize('NFC')
  const local = address.slice(0, at).normalize('NFC').toLowerCase()
  return `${local}@${domainToASCII(domain) || domain.toLowerCase()}`
}
