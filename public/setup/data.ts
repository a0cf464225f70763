/** The requests of this page. */
import type { ProblemList } from '../../src/contract/problems.ts'
import type { CheckReport, SetupTexts } from '../../src/contract/setup.ts'
import { ask } from '../operator/requests.ts'

const READ_TIMEOUT_MS = 15_000
/** A check reads several pages of a shop, which may be slow. */
const CHECK_TIMEOUT_MS = 90_000

/** The lines to paste for a shop's address. */
export const loadTexts = (customer: string, shop: string) =>
  ask<SetupTexts>(
    '../setup/data/snippet',
    { customer, shop },
    { signal: AbortSignal.timeout(READ_TIMEOUT_MS) },
  )

export type Checked = { readonly report: CheckReport; readonly texts: SetupTexts }

/** Has the gateway read pages of the shop. */
export const checkShop = (customer: string, shop: string) =>
  ask<Checked>(
    '../setup/data/check',
    { customer },
    {
      method: 'POST',
      signal: AbortSignal.timeout(CHECK_TIMEOUT_MS),
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ shop }),
    },
  )

/** What has come before this page was opened. */
export const loadCoverage = (customer: string) =>
  ask<ProblemList>(
    '../live/problems',
    { customer },
    { signal: AbortSignal.timeout(READ_TIMEOUT_MS) },
  )
