import { Unavailable } from '../lib/unavailable.ts'
import type { People } from '../people/people.ts'
import type { Answers } from './answers.ts'
import type { Ask } from './ask.ts'
import type { LongAnswer } from './follower/jobs.ts'

/** How long a question whose follower is being replaced is repeated, ms. */
const PATIENCE_MS = 60_000
const RETRY_MS = 500
/** Retry-After, seconds. */
const RETRY_SECONDS = 5
/** Answers that wait for the copy or for a thread, ms. */
const TIMEOUT_MS = 20_000

type LongName = {
  [Name in keyof Answers]: Answers[Name] extends (...args: never[]) => Promise<LongAnswer<unknown>>
    ? Name
    : never
}[keyof Answers]
type ValueOf<Name extends LongName> = Answers[Name] extends (
  ...args: never[]
) => Promise<LongAnswer<infer Value>>
  ? Value
  : never

/**
 * Persons, by the follower that holds the partition of their customer. A search that takes long, or an erasure, is
 * carried on by the follower that takes over.
 *
 * @param partitionOf The partition of a customer.
 * @param timeoutMs Time for an answer of the follower, ms.
 */
export function createNatsPeople(
  ask: Ask,
  partitionOf: (customer: string) => number,
  timeoutMs = TIMEOUT_MS,
): People {
  let isClosed = false

  /**
   * Asks until it is done. Only the first question may fail at once.
   *
   * @returns Also whether it was asked again. Then the answer may be of a follower that found the work done.
   */
  async function askLong<Name extends LongName>(
    name: Name,
    args: Parameters<Answers[Name]>,
    partition: number,
  ): Promise<{ readonly value: ValueOf<Name>; readonly isRepeated: boolean }> {
    let isRepeated = false
    let answer = await ask(partition, name, args, timeoutMs)
    let failedAt: number | undefined
    while (!(answer as LongAnswer<unknown>).isDone) {
      if (isClosed) throw new Unavailable('The gateway is stopping')
      isRepeated = true
      try {
        answer = await ask(partition, name, args, timeoutMs)
        failedAt = undefined
      } catch (error) {
        failedAt ??= performance.now()
        if (performance.now() - failedAt > PATIENCE_MS) {
          const begun = new Error('A follower has begun to answer', { cause: error })
          throw new Unavailable((error as Error).message, RETRY_SECONDS, begun)
        }
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
      }
    }
    const { value } = answer as unknown as { readonly value: ValueOf<Name> }
    return { value, isRepeated }
  }

  const readProofs = (customer: string) =>
    ask(partitionOf(customer), 'proofs', [customer], timeoutMs)

  return {
    async find(customer, person) {
      return (await askLong('findPerson', [customer, person], partitionOf(customer))).value
    },
    async export(customer, person) {
      const partition = partitionOf(customer)
      const { value: number } = await askLong('exportPerson', [customer, person], partition)
      if (number === undefined) return undefined
      return {
        next: () => ask(partition, 'nextPiece', [number], timeoutMs),
        // A follower that has stopped has ended it.
        end: () => void ask(partition, 'endExport', [number]).catch(() => {}),
      }
    },
    async erase(customer, person) {
      const [before] = await readProofs(customer)
      const { value, isRepeated } = await askLong(
        'erasePerson',
        [customer, person],
        partitionOf(customer),
      )
      if (value || !isRepeated) return value
      // Nothing is kept any more if a follower ended the erasure and its answer was lost. Then there is a new proof.
      const [last] = await readProofs(customer)
      const isNew = last && last.proof > (before?.proof ?? 0) && last.ended !== null
      return isNew ? last : undefined
    },
    proofs: readProofs,
    async close() {
      isClosed = true
    },
  }
}
