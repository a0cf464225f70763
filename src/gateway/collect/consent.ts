import { consentOf } from '../../contract/consentOf.ts'
import type { Customer } from '../customers/customers.ts'
import type { Refusal } from '../http/answers.ts'

/** Whether an event may be stored, and whether that takes the place of the device id with a hash of the day. */
export type Consent = { readonly ok: true; readonly isCookieless: boolean } | Refusal

/**
 * The rules of consent, as the script follows them in the page (docs/decisions.md, "Privacy at the gateway"). An event
 * of a page without `did` has no consent.
 *
 * A server speaks for its visitor, so its events need a `did` as ever.
 *
 * @param reported `consent` of the query or of the envelope. Only `denied` counts.
 */
export function judgeConsent(
  { config }: Pick<Customer, 'config'>,
  isServer: boolean,
  did: unknown,
  reported: unknown,
): Consent {
  const consent = consentOf(config)
  const isDenied = reported === 'denied'
  const isMissing = did === undefined || did === null
  if (consent === 'cookieless' && !isServer)
    return { ok: true, isCookieless: isDenied || isMissing }
  if (isDenied) return refuse('The event says that the visitor has not consented (consent=denied)')
  if (consent === 'required' && !isServer && isMissing)
    return refuse(
      'The event has no did, so the visitor has not consented, and this key requires it',
    )
  return { ok: true, isCookieless: false }
}

/** Final for the page: the answer contains the id of the event. */
const refuse = (why: string): Refusal => ({
  ok: false,
  status: 422,
  reason: 'no_consent',
  message: `no_consent: ${why}`,
})
