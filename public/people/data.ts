/** The requests of the people page. The person is in a body, never in an address, which would be kept in histories. */
import { type Answered, ask, type Refused } from '../operator/requests.ts'

/** Whose data is asked for. */
export type Person = { readonly email: string } | { readonly did: string }

/** What the gateway keeps of a person. */
export type Kept = {
  readonly events: number
  readonly operations: Readonly<Record<string, number>>
  /** When the first and the last event happened, ms since 1970. */
  readonly first: number
  readonly last: number
  readonly devices: number
  /** Ids of the devices, at most 100. */
  readonly dids: readonly string[]
  /** How many of the devices gave another address too. */
  readonly shared: number
}

/** The proof of an erasure. */
export type Proof = {
  readonly proof: number
  /** ms since 1970. */
  readonly begun: number
  /** Null if it was interrupted. */
  readonly ended: number | null
  readonly events: number
  readonly devices: number
  /** Events that the reports had. */
  readonly counted: number
}

/** Only e-mail addresses contain an @, or ids that are addresses, which are found as such. */
export const personOf = (text: string): Person =>
  text.includes('@') ? { email: text } : { did: text }

const post = (body: object): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
})

export const findPerson = (customer: string, person: Person) =>
  ask<Kept>('../people/data/find', { customer }, post(person))

export const erasePerson = (customer: string, person: Person) =>
  ask<Proof>('../people/data/erase', { customer }, post({ ...person, erase: true }))

export const loadProofs = (customer: string) =>
  ask<{ readonly data: readonly Proof[] }>('../people/data/proofs', { customer }, {})

/** Loads a person's data as a file. A download that breaks off is a failure. */
export async function loadFile(customer: string, person: Person): Promise<Answered<Blob>> {
  try {
    const answer = await fetch(
      `../people/data/export?${new URLSearchParams({ customer })}`,
      post(person),
    )
    const { ok, status } = answer
    if (ok) return { ok, status, body: await answer.blob() }
    const body: Refused['body'] = await answer.json().catch(() => undefined)
    return { ok, status, body }
  } catch {
    return { ok: false, status: 0, body: undefined }
  }
}
