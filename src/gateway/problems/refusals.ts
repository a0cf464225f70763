import type { Refusal } from '../http/answers.ts'
import { maskExample } from './maskExample.ts'
import { pathOfUrl } from './pagePath.ts'
import type { Problems } from './recorder.ts'
import { countedPath } from './recordFields.ts'

/** Words for refusals that are no faults to count, by status. */
const REASONS: Readonly<Record<number, string>> = {
  400: 'unreadable',
  404: 'not_found',
  415: 'media_type',
  422: 'no_consent',
  501: 'not_offered',
}

/**
 * Counts a refusal that the customer may be able to do something about: 413, and 422 unless it is for lack of consent,
 * which is no fault. Others are only reported.
 *
 * @param call Path of the call, such as `/t/r`.
 */
export function countRefusal(
  problems: Pick<Problems, 'count' | 'refused'>,
  customerId: string,
  { status, reason, issues, refused }: Refusal,
  call: string,
): void {
  const fault = { source: 'gateway', operation: refused?.operation ?? '' } as const
  if (status === 413)
    problems.count(customerId, { ...fault, reason: 'too_large', path: '', page: call })
  if (status !== 422 || reason === 'no_consent') {
    // A limit has reported itself.
    if (status !== 413 && status !== 429)
      problems.refused({
        customer: customerId,
        status,
        reason: reason ?? REASONS[status] ?? 'other',
        ...(fault.operation && { operation: fault.operation }),
        call,
      })
    return
  }
  const path = issues?.[0]?.path ?? ''
  problems.count(
    customerId,
    {
      ...fault,
      reason: 'refused',
      path: countedPath(fault.operation, path),
      page: pathOfUrl(refused?.payload.url) || call,
    },
    refused && (() => maskExample(refused.payload)),
  )
}
