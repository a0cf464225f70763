import { randomInt } from 'node:crypto'
import { Unavailable } from '../../../lib/unavailable.ts'
import type { Export } from '../../../people/people.ts'
import type { Person } from '../../../people/person.ts'
import type { ErasedEvent } from '../../../sqlite/copyRemovals.ts'
import { createSqlitePeople } from '../../../sqlite/people.ts'
import { eraseMessages } from '../../eraseMessages.ts'
import { removedSubject, streamOf } from '../../names.ts'
import { encodeRemoved } from '../../removedMessage.ts'
import { createJobs } from '../jobs.ts'
import { reachEnd } from '../reachEnd.ts'
import type { StartTask } from '../task.ts'

/** Exports that are open at once: each has the ids of its devices in memory, and a connection to the copy. */
export const MAX_EXPORTS = 8
/** An export that is not read for so long is ended, ms. */
export const EXPORT_IDLE_MS = 60_000
/** Time between two looks for messages that repeat an erased event, ms, and how many are deleted at once. */
const REPEATS_MS = 10_000
const MAX_REPEATS = 500
/** The numbers of exports begin at a random one, so that those of two followers differ. */
const MAX_FIRST_NUMBER = 2 ** 47
/** Retry-After, seconds. */
const RETRY_SECONDS = 5

/**
 * Finds, exports and erases persons in the copy. An erasure deletes the messages from the stream first, then tells all
 * copies by a message what to remove, then removes it here. So one that was interrupted finds the rest when it is
 * repeated.
 */
export const startPeople: StartTask = async (context) => {
  const { broker, copy, derived, workerFile, isHeld, onError } = context
  const { eventsFile, reportsFile, forwardFile, thread, partition } = copy
  const stream = streamOf(partition)
  const jobs = createJobs()
  const stopping = new AbortController()
  const people = createSqlitePeople({
    ...{ eventsFile, reportsFile, forwardFile },
    workerFile: new URL('./person-worker.js', workerFile),
    onEnd: (error) => onError(error, 'the thread of persons'),
  })
  const exports = new Map<number, { readonly one: Export; idle: NodeJS.Timeout }>()
  let lastExport = randomInt(MAX_FIRST_NUMBER)

  /** Deletes events from the stream, with all their repetitions, and tells the copies. */
  async function removeFromLog(customer: string, events: readonly ErasedEvent[]): Promise<void> {
    if (!isHeld())
      throw new Unavailable('The partition has moved to another follower', RETRY_SECONDS)
    // The bucket has the begun proof first, so that an erasure that is interrupted is known.
    await derived.flush()
    const repeats = await thread.call(
      'repeatsOf',
      customer,
      events.map(({ id }) => id),
    )
    const seqs = [...events.map(({ seq }) => seq), ...repeats]
    await eraseMessages(broker.jsm, stream, seqs, stopping.signal)
    await derived.eraseLetters(events.map(({ seq }) => seq))
    await broker.js.publish(removedSubject(partition, customer), encodeRemoved(events))
    await thread.call('forgetRepeats', repeats)
  }

  async function erase(customer: string, person: Person) {
    await reachEnd(broker, copy)
    const proof = await people.eraseCopied(customer, person, (events) =>
      removeFromLog(customer, events),
    )
    await derived.flush()
    return proof
  }

  async function openExport(customer: string, person: Person): Promise<number | undefined> {
    if (exports.size >= MAX_EXPORTS)
      throw new Unavailable('Too many exports of persons are open', RETRY_SECONDS)
    await reachEnd(broker, copy)
    const one = await people.export(customer, person)
    if (!one) return undefined
    lastExport++
    const number = lastExport
    exports.set(number, { one, idle: endLater(number) })
    return number
  }

  const endLater = (number: number): NodeJS.Timeout =>
    setTimeout(() => endExport(number), EXPORT_IDLE_MS)

  function endExport(number: number): void {
    const open = exports.get(number)
    if (!open) return
    clearTimeout(open.idle)
    exports.delete(number)
    open.one.end()
  }

  async function nextPiece(number: number): Promise<Uint8Array | undefined> {
    const open = exports.get(number)
    if (!open) throw new Unavailable('The export was ended. Begin again', RETRY_SECONDS)
    clearTimeout(open.idle)
    try {
      return await open.one.next()
    } finally {
      if (exports.has(number)) open.idle = endLater(number)
    }
  }

  /** An outbox may send an event again that was erased meanwhile. The copy leaves it out; its message is deleted here. */
  async function eraseRepeats(): Promise<void> {
    const seqs = await thread.call('dueRepeats', MAX_REPEATS)
    if (seqs.length === 0 || !isHeld()) return
    await eraseMessages(broker.jsm, stream, seqs, stopping.signal)
    await thread.call('forgetRepeats', seqs)
  }

  let erasing: Promise<void> | undefined
  const timer = setInterval(() => {
    erasing ??= eraseRepeats()
      .catch((error) => {
        if (!stopping.signal.aborted) onError(error, 'the messages of erased events')
      })
      .finally(() => {
        erasing = undefined
      })
  }, REPEATS_MS)

  const keyOf = (what: string, customer: string, person: Person): string =>
    JSON.stringify([what, customer, person])

  return {
    answers: {
      findPerson: (customer, person) =>
        jobs.run(keyOf('find', customer, person), async () => {
          await reachEnd(broker, copy)
          return people.find(customer, person)
        }),
      exportPerson: (customer, person) =>
        jobs.run(keyOf('export', customer, person), () => openExport(customer, person)),
      nextPiece,
      endExport: async (number) => endExport(number),
      erasePerson: (customer, person) =>
        jobs.run(keyOf('erase', customer, person), () => erase(customer, person)),
      proofs: (customer) => people.proofs(customer),
    },
    async stop() {
      stopping.abort()
      clearInterval(timer)
      for (const number of [...exports.keys()]) endExport(number)
      await people.close()
      await jobs.close()
      await erasing
    },
  }
}
