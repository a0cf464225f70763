import type { ForwardEvent } from './kind.ts'

/**
 * An event as webhooks and files have it, JSON. `docs/forwarding.md` describes the fields: a field is added under a new
 * name, and none gets another meaning.
 */
export const eventJson = ({
  id,
  at,
  receivedAt,
  operation,
  event,
  did,
  payload,
}: ForwardEvent): string => JSON.stringify({ id, at, receivedAt, operation, event, did, payload })
