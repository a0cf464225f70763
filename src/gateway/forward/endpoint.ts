import { pipe, rawCheck, string } from 'valibot'
import { isBounded, MAX_URL_CHARACTERS } from '../../contract/fields.ts'
import { isLoopbackAddress } from '../http/address.ts'

const NO_ADDRESS = `Expected an https address of at most ${MAX_URL_CHARACTERS} characters`

/**
 * The schema of an address that events may be sent to: https, or http to this machine only, since events are personal
 * data.
 */
export const endpoint = pipe(
  string(NO_ADDRESS),
  rawCheck(({ dataset, addIssue }) => {
    const message = dataset.typed ? findFault(dataset.value) : undefined
    if (message) addIssue({ message })
  }),
)

function findFault(text: string): string | undefined {
  if (!isBounded(text, MAX_URL_CHARACTERS) || !URL.canParse(text)) return NO_ADDRESS
  const { protocol, hostname, username, password, hash } = new URL(text)
  if (protocol !== 'https:' && protocol !== 'http:') return NO_ADDRESS
  if (protocol === 'http:' && !isLoopback(hostname))
    return 'Expected an https address: http is allowed only to this machine, such as http://127.0.0.1:8080/events'
  if (username || password)
    return 'Expected an address without a user name and a password, since addresses are logged by proxies'
  return hash ? 'Expected an address without a fragment (#)' : undefined
}

const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' || isLoopbackAddress(hostname)
