import { type CampaignOperations, MAX_CREATE_BYTES } from '../campaigns/campaignOperations.ts'
import { answer, answerLarge, type Refusal, refuse, toJson } from '../http/answers.ts'
import { type Query, readQuery } from '../http/query.ts'
import type { Connected } from '../http/requestEnv.ts'
import { createSemaphore } from '../http/semaphore.ts'
import { type Operators, readOwnJson } from './operators.ts'

export type CampaignPageDependencies = {
  readonly operations: CampaignOperations
  readonly operators: Operators
}

/**
 * Campaigns that are created at once: each is several times its body in memory. One customer gets one permit, so that
 * a slow sender does not block other customers.
 */
const CREATES = {
  permits: 2,
  maxWaiting: 20,
  waitMs: 2_000,
  message: 'Too many campaigns are being created',
}

/** The filters of the list that the page sends. */
const FILTERS = ['search', 'type', 'page', 'limit']

/**
 * The data of the campaigns page, for operators who may see the customer of `?customer=ID`: 401 without a sign-in, 403
 * for another customer.
 *
 * - GET /campaigns/data/list?search&type&page&limit: `{data, page, limit, total}`, without the HTML
 * - GET /campaigns/data/campaign?id: a whole campaign
 * - GET /campaigns/data/report?id: its report
 * - POST /campaigns/data/create: the new campaign, or 422 with issues. Rejects with TooMany
 */
export function createCampaignPages({ operations, operators }: CampaignPageDependencies) {
  const creates = createSemaphore(CREATES)

  /** A handler that reads data of a customer whom the operator may see. */
  const reading =
    <T extends { readonly ok: true }>(
      read: (customerId: string, query: Query) => Promise<T | Refusal>,
      toJson: (found: T) => Uint8Array,
    ) =>
    async (request: Request, peer: string, { env }: Connected<'reserve'>): Promise<Response> => {
      const watched = operators.findWatched(request, peer)
      if (!watched.ok) return refuse(watched)
      const found = await read(watched.customerId, readQuery(request.url))
      return found.ok ? answerLarge(toJson(found), env.reserve) : refuse(found)
    }

  async function create(
    request: Request,
    peer: string,
    { env }: Connected<'readBody'>,
  ): Promise<Response> {
    const watched = operators.findWatched(request, peer)
    if (!watched.ok) return refuse(watched)
    const { customerId } = watched
    const release = await creates.acquire(customerId)
    try {
      const body = await readOwnJson(request, env.readBody, MAX_CREATE_BYTES)
      if (!body.ok) return refuse(body)
      const created = await operations.create(customerId, body.json)
      return created.ok ? answer(200, created.record) : refuse(created)
    } finally {
      release()
    }
  }

  return {
    create,
    list: reading(
      (customerId, query) =>
        operations.list(customerId, Object.fromEntries(FILTERS.map((f) => [f, query(f)]))),
      ({ list }) => toJson(list),
    ),
    campaign: reading(
      (customerId, query) => operations.find(customerId, query('id') ?? ''),
      ({ json }) => json,
    ),
    report: reading(
      (customerId, query) =>
        operations.report(customerId, query('id') ?? '', query('bots') ?? undefined),
      ({ report }) => toJson(report),
    ),
  }
}
