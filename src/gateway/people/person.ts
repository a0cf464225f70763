import { check } from '../../contract/check.ts'
import { email, isBounded, MAX_SHORT_CHARACTERS } from '../../contract/fields.ts'
import { addressOf } from './addressOf.ts'

/** Whose data is asked for: an e-mail address, as `addressOf` compares it, or a device id, as it was sent. */
export type Person =
  | { readonly email: string; readonly did?: never }
  | { readonly did: string; readonly email?: never }

/** A person, or why the question can not be answered. */
export type PersonRead =
  | { readonly ok: true; readonly person: Person }
  | { readonly ok: false; readonly message: string }

/**
 * Reads who is asked for. White space at the ends is not part of an address or an id.
 *
 * @param asked Exactly one of the two. Values of a stranger: any type.
 */
export function readPerson(asked: {
  readonly email?: unknown
  readonly did?: unknown
}): PersonRead {
  const { email: address, did } = asked
  if ((address === undefined) === (did === undefined))
    return refuse('Expected either an e-mail address or a device id')
  const text = typeof address === 'string' ? address : did
  const trimmed = typeof text === 'string' ? text.trim() : ''
  if (address === undefined)
    return isBounded(trimmed, MAX_SHORT_CHARACTERS) && trimmed
      ? { ok: true, person: { did: trimmed } }
      : refuse(`Expected a device id of 1 to ${MAX_SHORT_CHARACTERS} characters`)
  return check(email, trimmed).ok
    ? { ok: true, person: { email: addressOf(trimmed) } }
    : refuse('Expected an e-mail address of at most 254 characters')
}

/** The message does not contain what was typed, since answers are logged. */
const refuse = (message: string): PersonRead => ({ ok: false, message })
