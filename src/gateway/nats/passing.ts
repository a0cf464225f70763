import { EngineAway } from '../engine/engineAway.ts'
import { NO_LEADER, NO_PEERS } from './apiErrors.ts'

const CODES = [NO_LEADER, NO_PEERS]
const NAMES = ['TimeoutError', 'NoResponders']

/**
 * Why the cluster did not answer, if that usually passes: it elects leaders, or no follower holds a partition yet. By
 * names, so that a gateway with SQLite does not load the client of the cluster.
 *
 * @returns Without subjects, so that it is the same for all of them. Undefined for another error, and for EngineAway,
 * which says itself what to do.
 */
export function findPassing(error: unknown): string | undefined {
  if (!(error instanceof Error) || error instanceof EngineAway) return undefined
  const { name, message, cause, code } = error as Error & { readonly code?: unknown }
  if (NAMES.includes(name) || CODES.includes(code as number))
    return name === 'NoResponders' ? 'no server answers' : message
  const reason = findPassing(cause)
  return reason !== undefined && name === 'Unavailable' ? message : reason
}

/**
 * For a start: what passes is waited for, wherever it happens.
 *
 * @throws EngineAway instead of an error that usually passes. Other errors as they are.
 */
export function throwAway(error: unknown): never {
  const reason = findPassing(error)
  if (reason === undefined) throw error
  throw new EngineAway(
    `The cluster (ENGINE) does not answer: ${reason}. Check that most of its nodes run`,
    'The cluster does not answer',
    error,
  )
}
