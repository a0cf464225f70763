import { deserialize, serialize } from 'node:v8'
import { errors, type Msg, type NatsConnection } from '@nats-io/transport-node'
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
export const ASK_TIMEOUT_MS = 10_000
/** Retry-After, seconds: about as long as a take-over. */
const RETRY_SECONDS = 5
/** Size of the messages of a reply, bytes. A server takes 1 MiB by default. */
export const PIECE_BYTES = 2 ** 19
/** The largest reply, bytes: above a hundred summaries of campaigns with the longest texts. */
export const MAX_REPLY_BYTES = 2 ** 24
/** First byte of a message: whether more of the reply follows. */
const LAST = 0
const MORE = 1

export function createAsk(nc: NatsConnection): Ask {
  return async (partition, name, args, timeoutMs = ASK_TIMEOUT_MS) => {
    const question = serialize({ name, args } satisfies Question)
    let reply: Reply
    try {
      reply = deserialize(await request(nc, askSubject(partition), question, timeoutMs))
    } catch (error) {
      throw new Unavailable(explain(error as Error, partition), RETRY_SECONDS, error)
    }
    if ('failure' in reply) throw new Unavailable(reply.failure, reply.retry)
    return reply.value as never
  }
}

/** Whether it is certain that no follower has got a question, by the error of `Ask`. */
export const isNotAsked = (error: unknown): boolean =>
  error instanceof Unavailable && error.cause instanceof errors.NoRespondersError

/** @returns The pieces of the reply, put together. */
async function request(
  nc: NatsConnection,
  subject: string,
  question: Uint8Array,
  timeoutMs: number,
): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  const messages = await nc.requestMany(subject, question, {
    strategy: 'sentinel',
    maxWait: timeoutMs,
  })
  for await (const { data } of messages) {
    bytes += data.length
    if (bytes > 2 * MAX_REPLY_BYTES) break
    pieces.push(data.subarray(1))
    if (data[0] === LAST) return Buffer.concat(pieces)
  }
  // The messages end without an error when the time is over.
  throw new errors.TimeoutError()
}

function explain(error: Error, partition: number): string {
  if (error instanceof errors.NoRespondersError)
    return `No follower holds partition ${partition} at the moment. One has to run: shoptrail follow`
  if (error instanceof errors.TimeoutError)
    return `The follower of partition ${partition} answers too slowly`
  return `The follower of partition ${partition} can not be asked`
}

/**
 * Answers the questions about a partition.
 *
 * @param answers Functions by name.
 * @param onError Called with an error that is not Unavailable. The gateway that has asked gets no details of it.
 * @param isHeld Whether the partition is held at this moment. If not, another follower answers. Default: it is.
 * @returns Ends it.
 */
export function serveAnswers(
  nc: NatsConnection,
  partition: number,
  answers: Answers,
  onError: (error: unknown) => void,
  isHeld: () => boolean = () => true,
): () => void {
  async function answer(message: Msg): Promise<void> {
    let reply = serialize(await carryOut(message.data))
    if (reply.length > MAX_REPLY_BYTES)
      reply = serialize({ failure: 'The answer is too large', retry: RETRY_SECONDS })
    for (let from = 0; from < reply.length; from += PIECE_BYTES) {
      const piece = reply.subarray(from, from + PIECE_BYTES)
      const flag = from + PIECE_BYTES < reply.length ? MORE : LAST
      message.respond(Buffer.concat([Buffer.of(flag), piece]))
    }
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
      else if (isHeld()) answer(message).catch(onError)
    },
  })
  return () => subscription.unsubscribe()
}
