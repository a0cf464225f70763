/** The requests of the operators' pages. A failed request is a value, not an exception. */
import type { EndReason } from './operator.ts'

export type Issue = { readonly path: string; readonly message: string }
/** Body of an error. */
type Refusal = { readonly message?: string; readonly issues?: readonly Issue[] }

export type Refused = {
  readonly ok: false
  /** 0 if there was no answer. */
  readonly status: number
  readonly body: Refusal | undefined
}
export type Answered<T> = { readonly ok: true; readonly status: number; readonly body: T } | Refused

export type Params = Readonly<Record<string, string>>

/**
 * Sends a request for JSON.
 *
 * @param init Its `signal` ends a request that takes too long.
 */
export async function ask<T>(
  path: string,
  params: Params,
  init: RequestInit,
): Promise<Answered<T>> {
  try {
    const answer = await fetch(`${path}?${new URLSearchParams(params)}`, {
      ...init,
      headers: { accept: 'application/json', ...init.headers },
    })
    const { ok, status } = answer
    const body = await answer.json().catch(() => undefined)
    return ok && body !== undefined ? { ok, status, body } : { ok: false, status, body }
  } catch {
    return { ok: false, status: 0, body: undefined }
  }
}

/** Why the operator may no longer see a customer, by the status of an answer; undefined if they may. */
export function endOf(status: number): EndReason | undefined {
  if (status === 401) return 'signed_out'
  return status === 403 ? 'refused' : undefined
}

/** A failed request as a sentence. */
export const describeRefusal = ({ status, body }: Refused): string =>
  body?.message ?? `That did not work (${status}).`
