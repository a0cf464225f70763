import { REPORTED_REASONS } from '../../contract/problems.ts'
import { FIELD_RULES } from './fieldRules.ts'
import { OPERATIONS } from './operations.ts'
import { pagePath } from './pagePath.ts'
import type { Fault } from './problems.ts'

/** The longest report, characters as it is encoded in the query. A script sends at most 1,500 before that. */
export const MAX_CHARACTERS = 6_144
/** Kinds of faults that are read. A page has few. */
export const MAX_FAULTS = 40
/** A report that is as long as this, characters, may have been cut in its last line. */
const CUT_CHARACTERS = 1_500

/**
 * Reads what a page has dropped, percent-encoded as in the query: a line `reason,operation,path,page` for each dropped
 * event. Operation and path may be empty, the page may contain commas.
 *
 * Anybody can send a report: only names that the contract has are taken, and the page is shortened and masked. What is
 * not understood is left out.
 */
export function readPageReport(encoded: string): readonly (Fault & { readonly count: number })[] {
  if (encoded.length > MAX_CHARACTERS) return []
  return [...countLines(decode(encoded))].slice(0, MAX_FAULTS).flatMap(([line, count]) => {
    const fault = readLine(line)
    return fault ? [{ ...fault, count }] : []
  })
}

/** Empty if it is not UTF-8. */
function decode(encoded: string): string {
  try {
    return decodeURIComponent(encoded)
  } catch {
    return ''
  }
}

function countLines(text: string): ReadonlyMap<string, number> {
  const lines = text.split('\n')
  if (text.length >= CUT_CHARACTERS && lines.length > 1) lines.pop()
  const counts = new Map<string, number>()
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1)
  return counts
}

function readLine(line: string): Fault | undefined {
  const [, named, operation = '', path = '', page = ''] =
    /^([^,]*),([^,]*),([^,]*),(.*)$/s.exec(line) ?? []
  const reason = REPORTED_REASONS.find((name) => name === named)
  if (!reason) return undefined
  return {
    reason,
    source: 'page',
    operation: OPERATIONS.has(operation) ? operation : '',
    path: Object.hasOwn(FIELD_RULES, path) ? path : '',
    page: pagePath(page),
  }
}
