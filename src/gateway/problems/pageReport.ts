import { REPORTED_REASONS } from '../../contract/problems.ts'
import { FIELD_RULES } from './fieldRules.ts'
import { OPERATIONS } from './operations.ts'
import { pagePath } from './pagePath.ts'
import type { Fault } from './problems.ts'

/** The longest report, characters as it is encoded in the query. A script sends at most 1,500 before that. */
const MAX_CHARACTERS = 6_144
/** Entries that are read. A page has few kinds of faults. */
const MAX_ENTRIES = 40
/** The most that an entry counts as, since anybody can send a report. */
const MAX_COUNT = 1_000

/**
 * Reads what a page has counted: `{"reason,operation,path,page": count}`, percent-encoded as in the query. Operation and
 * path may be empty, the page may contain commas.
 *
 * Anybody can send a report: only names that the contract has are taken, and the page is shortened and masked. What is
 * not understood is left out.
 */
export function readPageReport(encoded: string): readonly (Fault & { readonly count: number })[] {
  if (encoded.length > MAX_CHARACTERS) return []
  const counts = parse(encoded)
  if (typeof counts !== 'object' || counts === null || Array.isArray(counts)) return []
  return Object.entries(counts)
    .slice(0, MAX_ENTRIES)
    .flatMap(([key, count]) => {
      const fault = readKey(key)
      const isCount = Number.isSafeInteger(count) && count > 0
      return fault && isCount ? [{ ...fault, count: Math.min(count, MAX_COUNT) }] : []
    })
}

function parse(encoded: string): unknown {
  try {
    return JSON.parse(decodeURIComponent(encoded))
  } catch {
    return undefined
  }
}

function readKey(key: string): Fault | undefined {
  const [, named, operation = '', path = '', page = ''] =
    /^([^,]*),([^,]*),([^,]*),(.*)$/s.exec(key) ?? []
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
