import type { Person } from './person.ts'

/** What is kept of a person. At least one event. */
export type Kept = {
  readonly events: number
  /** Number of events by operation, the most frequent first. */
  readonly operations: Readonly<Record<string, number>>
  /** When the first and the last event happened, ms since 1970. */
  readonly first: number
  readonly last: number
  /** How many devices gave the address; 1 for a device id. */
  readonly devices: number
  /** The ids of the devices, at most MAX_LISTED. */
  readonly dids: readonly string[]
  /** How many of these devices gave another address too. Their events may be those of two people. */
  readonly shared: number
}

/** The most device ids or proofs in an answer. An export has all device ids. */
export const MAX_LISTED = 100

/** What an erasure has removed. */
export type Removed = {
  /** Events of the log. */
  readonly events: number
  readonly devices: number
  /** Events of devices that the file of the reports had. */
  readonly counted: number
}

/** The proof of an erasure. The person does not follow from it: it has neither an address nor an id nor a hash of one. */
export type Proof = Removed & {
  /** Its number, from 1, in order. */
  readonly proof: number
  readonly customer: string
  /** ms since 1970. */
  readonly begun: number
  /** ms since 1970. Null if it was interrupted: then it removed only some of the events, and has to be repeated. */
  readonly ended: number | null
}

/** A person's data as one JSON document (see personJson.ts), UTF-8, made piece by piece. */
export type Export = {
  /** The next piece, about 64 kB. Undefined at the end. Rejects with Unavailable; then the document is incomplete. */
  next(): Promise<Uint8Array | undefined>
  /** Call it once, after the end or before it. */
  end(): void
}

/**
 * What the gateway keeps of a person. A call reads every event of the customer up to the last one at its begin, in
 * small steps: a million events take some seconds. Every function rejects with Unavailable if the data can not be read
 * or written.
 */
export type People = {
  /** Undefined if nothing is kept. */
  find(customer: string, person: Person): Promise<Kept | undefined>
  /** Undefined if nothing is kept. */
  export(customer: string, person: Person): Promise<Export | undefined>
  /**
   * Removes the events and what was derived from them, also from the bytes of the files. Events that arrive meanwhile
   * are new. Undefined if nothing is kept; then there is no proof either.
   */
  erase(customer: string, person: Person): Promise<Proof | undefined>
  /** The newest proofs of a customer, at most MAX_LISTED, newest first. */
  proofs(customer: string): Promise<readonly Proof[]>
  close(): Promise<void>
}
