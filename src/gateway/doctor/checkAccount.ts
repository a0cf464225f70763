import type { JetStreamApiError, JetStreamManager } from '@nats-io/jetstream'
import { NOT_ENABLED } from '../nats/apiErrors.ts'
import { error, type Found, ok, warning } from './finding.ts'

/** Share of a limit from which on there is a warning. */
const HIGH = 0.8

/** What an account uses, and its limits: -1 is none. */
type Usage = {
  readonly storage: number
  readonly streams: number
  readonly consumers: number
  readonly limits: {
    readonly max_storage: number
    readonly max_streams: number
    readonly max_consumers: number
  }
}

/** Whether the account has JetStream, and whether its limits are enough. */
export async function checkAccount(jsm: JetStreamManager): Promise<Found[]> {
  try {
    const { tiers, ...usage } = await jsm.getAccountInfo()
    // An account has either limits of its own or some for each number of replicas.
    const all = Object.entries(tiers ?? {}).flatMap(([tier, used]) =>
      used ? [[` (${tier})`, used] as const] : [],
    )
    return (all.length > 0 ? all : [['', usage] as const]).flatMap(([tier, used]) =>
      checkUsage(tier, used),
    )
  } catch (failure) {
    return [explain(failure as Error)]
  }
}

function explain(failure: Error): Found {
  const { code } = failure as Partial<JetStreamApiError> & { readonly code?: number }
  if (code !== undefined && NOT_ENABLED.includes(code))
    return error(
      'JetStream is not enabled for this account',
      'Add `jetstream { store_dir: … }` to the configuration of nats-server',
      'Enable it for the account: `jetstream: enabled`',
    )
  if (failure.name === 'NoRespondersError')
    return error(
      'JetStream does not answer: it is not enabled, or the user may not ask it',
      'Add `jetstream { store_dir: … }` to the configuration of nats-server',
      'Allow the user to publish to `$JS.API.>`: docs/scale.md has all permissions',
    )
  if (failure.name === 'TimeoutError')
    return error(
      'JetStream does not answer in time: most of the nodes are away, or they elect a leader at the moment',
      'Start the nodes that are away, and repeat this in a minute',
    )
  return error(`JetStream can not be asked: ${failure.message}`)
}

/** @param tier For the message. */
export function checkUsage(tier: string, { limits, ...usage }: Usage): Found[] {
  const found: Found[] = []
  for (const [used, limit, what] of [
    [usage.storage, limits.max_storage, 'bytes of its storage'],
    [usage.streams, limits.max_streams, 'of its streams'],
    [usage.consumers, limits.max_consumers, 'of its consumers'],
  ] as const)
    if (limit > 0 && used >= HIGH * limit)
      found.push(
        warning(
          `The account${tier} uses ${used} of ${limit} ${what}. Above it events are answered 503`,
          'Raise the limit of the account, or keep events for fewer days',
        ),
      )
  if (found.length === 0)
    found.push(
      ok(
        `JetStream is enabled. The account${tier} uses ${(usage.storage / 2 ** 20).toFixed(0)} MiB in ${usage.streams} streams`,
      ),
    )
  return found
}
