/** The requests of the campaigns page. A failed request is a value, not an exception. */
import type { CampaignRecord, EmailReport } from '../../src/contract/answers.ts'
import type { EndReason } from '../operator/operator.ts'
import type { CampaignHead, ListPlace, NewCampaign } from './model.ts'

/** Timeout of a list or a report. */
const READ_TIMEOUT_MS = 15_000
/** Timeout of a new campaign, which may be half a megabyte over a slow line. */
const CREATE_TIMEOUT_MS = 60_000

/** The most campaigns that the gateway returns in one answer. */
const MAX_COMPARED = 100

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

type List = { readonly data: readonly CampaignHead[]; readonly total: number }

type Params = Readonly<Record<string, string>>

async function ask<T>(path: string, params: Params, init: RequestInit): Promise<Answered<T>> {
  try {
    const answer = await fetch(`/campaigns/data/${path}?${new URLSearchParams(params)}`, {
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

const read = <T>(path: string, params: Params) =>
  ask<T>(path, params, { signal: AbortSignal.timeout(READ_TIMEOUT_MS) })

export const loadList = (
  customer: string,
  { search, type, page }: Omit<ListPlace, 'view'>,
  limit: number,
) => read<List>('list', { customer, search, type, page: `${page}`, limit: `${limit}` })

/** The newest campaigns, to find those with the same utm values. */
export const loadNewest = (customer: string) =>
  loadList(customer, { search: '', type: '', page: 1 }, MAX_COMPARED)

export const loadCampaign = (customer: string, id: string) =>
  read<CampaignRecord>('campaign', { customer, id })

export const loadReport = (customer: string, id: string) =>
  read<EmailReport>('report', { customer, id })

export const createCampaign = (customer: string, campaign: NewCampaign) =>
  ask<CampaignRecord>(
    'create',
    { customer },
    {
      method: 'POST',
      signal: AbortSignal.timeout(CREATE_TIMEOUT_MS),
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(campaign),
    },
  )

/** Why the operator may no longer see a customer, by the status of an answer; undefined if they may. */
export function endOf(status: number): EndReason | undefined {
  if (status === 401) return 'signed_out'
  return status === 403 ? 'refused' : undefined
}

/** A failed request as a sentence. */
export const describeRefusal = ({ status, body }: Refused): string =>
  body?.message ?? `That did not work (${status}).`
