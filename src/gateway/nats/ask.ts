import { deserialize, serialize } from 'node:v8'
import type { Msg, NatsConnection } from '@nats-io/transport-node'
import { Unavailable } from '../lib/unavailable.ts'
import type { Answers } from './answers.ts'
import { askSubject } from './names.ts'

/**
 * Asks the follower that holds a partition, by request and reply. Rejects with Unavailable if no follower holds it, if
 * it does not answer in time, or if it could not carry out the question.
 *
 * @param timeoutMs Default 10,000.
 */
export type Ask = <Name extends keyof Answers>(
  partition: number,
  name: Name,
  args: Parameters<Answers[Name]>,
  timeoutMs?: number,
) => Promise<Awaited<ReturnType<Answers[Name]>>>

type Question = { readonly name: keyof Answers; readonly args: readonly unknown[] }
type Reply = { readonly value: unknown } | { readonly failure: string; readonly retry: number }

/** Longer than a report that waits for the log to be read (5 s). */
const TIMEOUT_MS = 10_000
/** Retry-After, seconds: about as long as a take-over. */
const RETRY_SECONDS = 5

export function createAsk(nc: NatsConnection): Ask {
  return async (partition, name, args, timeoutMs = TIMEOUT_MS) => {
    const question = serialize({ name, args } satisfies Question)
    let reply: Reply
    try {
      const message = await nc.request(askSubject(partition), question, { timeout: timeoutMs })
      reply = deserialize(message.data)
    } catch (error) {
      throw new Unavailable(explain(error as Error, partition), RETRY_SECONDS, error)
    }
    if ('failure' in reply) throw new Unavailable(reply.failure, reply.retry)
    return reply.value as never
  }
}

function explain({ name }: Error, partition: number): string {
  if (name === 'NoRespondersError' || name === 'RequestError')
    return `No follower holds partition ${partition} at the moment. One has to run: shoptrail follow`
  if (name === 'TimeoutError') return `The follower of partition ${partition} answers too slowly`
  return `The follower of partition ${partition} can not be asked`
}

/**
 * Answers the questions about a partition.
 *
 * @param answers Functions by name.
 * @param onError Called with an error that is not Unavailable. The one who asks gets no details of it.
 * @returns Ends it.
 */
export function serveAnswers(
  nc: NatsConnection,
  partition: number,
  answers: Answers,
  onError: (error: unknown) => void,
): () => void {
  async function answer(message: Msg): Promise<void> {
    message.respond(serialize(await carryOut(message.data)))
  }

  async function carryOut(data: Uint8Array): Promise<Reply> {
    try {
      const { name, args }: Question = deserialize(data)
      if (!Object.hasOwn(answers, name))
        return { failure: `The follower does not know ${name}. Upgrade it`, retry: RETRY_SECONDS }
      const run = answers[name] as (...args: readonly unknown[]) => Promise<unknown>
      return { value: await run(...args) }
    } catch (error) {
      if (error instanceof Unavailable)
        return { failure: error.message, retry: error.retryAfterSeconds }
      onError(error)
      return { failure: 'The follower could not answer', retry: RETRY_SECONDS }
    }
  }

  const subscription = nc.subscribe(askSubject(partition), {
    callback: (error, message) => {
      if (error) onError(error)
      else answer(message).catch(onError)
    },
  })
  return () => subscription.unsubscribe()
}
