/** The requests of the campaigns page. */
import type { CampaignRecord, EmailReport } from '../../src/contract/answers.ts'
import { ask, type Params } from '../operator/requests.ts'
import type { CampaignHead, ListPlace, NewCampaign } from './model.ts'

/** Timeout of a list or a report. */
const READ_TIMEOUT_MS = 15_000
/** Timeout of a new campaign, which may be half a megabyte over a slow line. */
const CREATE_TIMEOUT_MS = 60_000

/** The most campaigns that the gateway returns in one answer. */
const MAX_COMPARED = 100

type List = { readonly data: readonly CampaignHead[]; readonly total: number }

const read = <T>(path: string, params: Params) =>
  ask<T>(`../campaigns/data/${path}`, params, { signal: AbortSignal.timeout(READ_TIMEOUT_MS) })

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

/** @param bots Whether the figures include bots. */
export const loadReport = (customer: string, id: string, bots: boolean) =>
  read<EmailReport>('report', { customer, id, ...(bots && { bots: 'include' }) })

export const createCampaign = (customer: string, campaign: NewCampaign) =>
  ask<CampaignRecord>(
    '../campaigns/data/create',
    { customer },
    {
      method: 'POST',
      signal: AbortSignal.timeout(CREATE_TIMEOUT_MS),
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(campaign),
    },
  )
