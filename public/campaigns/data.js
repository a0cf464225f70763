/** What the page asks its gateway. Every answer is a value: `status` 0 is none at all. */

/** A list or a report that takes longer is given up, ms. */
const READ_TIMEOUT_MS = 15_000
/** A new campaign may be half a megabyte over a slow line; what takes longer still has no answer, ms. */
const CREATE_TIMEOUT_MS = 60_000

const MAX_COMPARED = 100

/**
 * @typedef {{ ok: boolean, status: number, body: any }} Answered
 * @returns {Promise<Answered>}
 */
async function ask(path, params, init) {
  try {
    const answer = await fetch(`/campaigns/data/${path}?${new URLSearchParams(params)}`, {
      ...init,
      headers: { accept: 'application/json', ...init?.headers },
    })
    const body = await answer.json().catch(() => undefined)
    return { ok: answer.ok && body !== undefined, status: answer.status, body }
  } catch {
    return { ok: false, status: 0, body: undefined }
  }
}

const read = (path, params) => ask(path, params, { signal: AbortSignal.timeout(READ_TIMEOUT_MS) })

export const loadList = (customer, { search, type, page }, limit) =>
  read('list', { customer, search, type, page, limit })

/** The newest campaigns: as many as one answer may hold, to compare one with. */
export const loadNewest = (customer) =>
  loadList(customer, { search: '', type: '', page: 1 }, MAX_COMPARED)

export const loadCampaign = (customer, id) => read('campaign', { customer, id })

export const loadReport = (customer, id) => read('report', { customer, id })

export const createCampaign = (customer, campaign) =>
  ask(
    'create',
    { customer },
    {
      method: 'POST',
      signal: AbortSignal.timeout(CREATE_TIMEOUT_MS),
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(campaign),
    },
  )

/** Why a customer may not be looked at any more, by the status of an answer; '' where it may. */
export const endOf = (/** @type {number} */ status) =>
  ({ 401: 'signed_out', 403: 'refused' })[status] ?? ''
