import type { RefusedEvent } from '../gateway/http/refusedEvent.ts'
import type { Fault } from '../gateway/problems/problems.ts'
import type { Problems } from '../gateway/problems/recorder.ts'

/** Takes the place of the recorder, and lists what it is told. */
export function listProblems() {
  const faults: (Fault & { readonly customer: string; readonly example?: unknown })[] = []
  const reports: [customer: string, encoded: string][] = []
  const unknownKeys: string[] = []
  const refused: RefusedEvent[] = []
  const problems: Problems = {
    count: (customer, fault, makeExample) =>
      void faults.push({
        customer,
        ...fault,
        ...(makeExample && { example: JSON.parse(makeExample()) }),
      }),
    refused: (event) => void refused.push(event),
    report: (...report) => void reports.push(report),
    unknownKey: (_, trackingKey) => void unknownKeys.push(trackingKey),
    stored: () => {},
  }
  return { problems, faults, reports, unknownKeys, refused }
}
