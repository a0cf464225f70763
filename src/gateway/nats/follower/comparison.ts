import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { MsgRequest } from '@nats-io/jetstream'
import { Unavailable } from '../../lib/unavailable.ts'
import type { CopyFault, EventName } from '../../sqlite/copyComparison.ts'
import type { Broker } from '../broker.ts'
import { decodeEvent } from '../eventMessage.ts'
import { fromToken, streamOf } from '../names.ts'
import { isExpected } from './copy.ts'
import type { PartitionCopy } from './partitionCopy.ts'

/** A difference between a copy and its stream, as the stream's leader has it. */
export type Difference = { readonly seq: number; readonly fault: CopyFault }

/** The comparison of a copy with its stream. */
export type Comparison = {
  /** Undefined as long as none is known. */
  difference(): Difference | undefined
  /** Resolves when nothing is compared any more. Call it before the copy is closed. */
  close(): Promise<void>
}

export type ComparisonOptions = {
  readonly broker: Pick<Broker, 'jsm'>
  readonly copy: Pick<PartitionCopy, 'partition' | 'folder' | 'thread' | 'position'>
  /** Time between two rounds, ms. Default 10,000. */
  readonly roundMs?: number | undefined
  /** Called when a difference was found, and when it is not there any more. */
  readonly onChange: (difference: Difference | undefined) => void
  /** Called with errors that do not pass by themselves. The comparison goes on. */
  readonly onError: (error: unknown) => void
}

const ROUND_MS = 10_000
/** Sequences before the position that are compared after a start, and that random ones are chosen from. */
const LATELY = 10_000
/**
 * Requests of a round, at most, each for one message of the leader: about gaps, and at random sequences. A copy has a gap
 * for each message that is not an event, such as counts, which come every 3 seconds from each gateway that gets events.
 */
const MAX_GAPS = 200
const RANDOM = 4

/**
 * Compares a copy with its stream, again and again. Copies are read from any replica of the stream, and those of
 * nats-server 2.9 could differ for ever (docs/scale.md). What is asked here is answered by the leader.
 *
 * A round compares the newest message, all gaps of what was copied since the last round, and some random messages. So a
 * message that the copy lacks is found in the next round, and another message at the same sequence sooner or later.
 *
 * Only a message that the leader has can show a difference: no answer does not, nor does a message that is not there. It
 * may have been erased, and the copies learn that later. A difference counts when the next round finds it again. Its
 * sequence is then in the file `differs` in the folder of the copy, so that it is known after a restart, until the copy
 * is made again.
 */
export function startComparison(options: ComparisonOptions): Comparison {
  const { broker, copy, roundMs = ROUND_MS, onChange, onError } = options
  const stream = streamOf(copy.partition)
  const noteFile = join(copy.folder, 'differs')
  const stopping = new AbortController()
  const { signal } = stopping
  /** Where the last round has found a difference. */
  let suspect = existsSync(noteFile) ? Number(readFileSync(noteFile, 'utf8')) : undefined
  let difference: Difference | undefined
  /** Up to this sequence the gaps were compared. */
  let compared = copy.position() - LATELY

  /** Compares the first message from a sequence on, if it is not after `upTo`. */
  async function compareFrom(
    from: number,
    upTo: number,
  ): Promise<{ readonly seq: number; readonly fault: CopyFault | undefined } | undefined> {
    // The type lacks the two together, which servers have since 2.9.
    const query = { seq: from, next_by_subj: '>' } as MsgRequest
    const message = await broker.jsm.streams.getMessage(stream, query)
    if (!message || message.seq > upTo) return undefined
    const { seq } = message
    const event = nameOf(message.subject, message.data)
    return { seq, fault: await copy.thread.call('compareEvent', seq, event) }
  }

  /** Compares the gaps of the copy, up to a sequence. @returns Where it differs. */
  async function compareGaps(upTo: number): Promise<number | undefined> {
    compared = Math.max(compared, upTo - LATELY, 0)
    for (let asked = 0; asked < MAX_GAPS && !signal.aborted; asked++) {
      const gap = await copy.thread.call('firstAbsent', compared + 1, upTo)
      const found = gap === undefined ? undefined : await compareFrom(gap, upTo)
      compared = found?.seq ?? upTo
      if (!found) return undefined
      if (found.fault) return found.seq
    }
    return undefined
  }

  async function compareSome(upTo: number): Promise<number | undefined> {
    const from = Math.max(1, upTo - LATELY)
    const random = Array.from(
      { length: RANDOM },
      () => from + Math.floor(Math.random() * (upTo - from)),
    )
    for (const seq of [upTo, ...random]) {
      if (signal.aborted) return undefined
      const found = await compareFrom(seq, upTo)
      if (found?.fault) return found.seq
    }
    return undefined
  }

  async function round(): Promise<void> {
    const upTo = copy.position()
    if (upTo === 0) return
    if (suspect !== undefined) {
      const { fault } = (await compareFrom(suspect, suspect)) ?? {}
      note(fault && { seq: suspect, fault })
      if (fault) return
      suspect = undefined
    }
    suspect = (await compareSome(upTo)) ?? (await compareGaps(upTo))
  }

  function note(found: Difference | undefined): void {
    const isNews = found?.seq !== difference?.seq
    difference = found
    if (!found) rmSync(noteFile, { force: true })
    else if (isNews) writeFileSync(noteFile, `${found.seq}`, { mode: 0o600 })
    if (isNews) onChange(found)
  }

  async function run(): Promise<void> {
    for (;;) {
      await delay(roundMs, undefined, { signal }).catch(() => {})
      if (signal.aborted) return
      try {
        await round()
      } catch (error) {
        // The copy itself reports that it can not be read.
        if (!isExpected(error) && !(error instanceof Unavailable)) onError(error)
      }
    }
  }
  const running = run()

  return {
    difference: () => difference,
    async close() {
      stopping.abort()
      await running
    },
  }
}

/** What identifies the event of a message. Undefined for another message, and for one that copies leave out. */
function nameOf(subject: string, data: Uint8Array): EventName | undefined {
  const [kind, , token = ''] = subject.split('.')
  if (kind !== 'events') return undefined
  try {
    const customer = fromToken(token)
    return { customer, id: decodeEvent(customer, data).id }
  } catch {
    return undefined
  }
}
