import { randomBytes } from 'node:crypto'
import { JetStreamApiError } from '@nats-io/jetstream'
import type { DaySalt } from '../collect/daySalt.ts'
import { dayOf } from '../customers/usage.ts'
import { Unavailable } from '../lib/unavailable.ts'
import { WRONG_SEQUENCE } from './apiErrors.ts'
import type { Broker } from './broker.ts'
import { entrySubject, SALTS_BUCKET, streamOfBucket } from './names.ts'

/** Time between two checks of the bucket, ms. A salt whose day is over is forgotten after at most this. */
export const CHECK_MS = 30_000
/** The salt of tomorrow is made this long before midnight, ms, in case the cluster is away then. */
export const AHEAD_MS = 3_600_000
/** An event without a salt asks for one, but not more often than this, ms. */
const RETRY_MS = 1_000
const SALT_BYTES = 32
const STREAM = streamOfBucket(SALTS_BUCKET)
const SUBJECTS = entrySubject(SALTS_BUCKET, '')

export type NatsDaySalt = {
  readonly daySalt: DaySalt
  /** Resolves when the first check has ended, also if it has failed. */
  readonly ready: Promise<void>
  close(): void
}

/**
 * The salts of a cluster, one for all gateways: entries of a bucket, named by their day. The first gateway that needs a
 * salt makes it. Every gateway has that of today in memory, and in the last hour of a day that of tomorrow.
 *
 * A salt whose day is over is overwritten in memory, and deleted from the bucket so that the servers overwrite it in
 * their files. A salt of a day after tomorrow is deleted too: a gateway with a wrong clock has made it.
 *
 * @param broker A promise while the cluster is away: there is no salt until then.
 * @param now The clock, ms since 1970.
 * @param onError Called when a check fails, once for each reason.
 */
export function createNatsDaySalt(
  broker: Broker | Promise<Broker>,
  now: () => number,
  onError: (error: unknown) => void,
): NatsDaySalt {
  const kept = new Map<number, Buffer>()
  let reported: string | undefined
  let checking: Promise<void> | undefined
  let checkedAt = Number.NEGATIVE_INFINITY
  let isClosed = false

  function keep(day: number, salt: Buffer): void {
    const before = kept.get(day)
    if (before?.equals(salt)) return
    before?.fill(0)
    kept.set(day, salt)
  }

  function forget(isOver: (day: number) => boolean): void {
    for (const [day, salt] of kept) {
      if (!isOver(day)) continue
      salt.fill(0)
      kept.delete(day)
    }
  }

  async function check(): Promise<void> {
    const at = now()
    const today = dayOf(at)
    const isOver = (day: number) => !(day === today || day === today + 1)
    forget(isOver)
    checkedAt = at
    try {
      const connected = await broker
      await erase(connected, isOver)
      const needed = dayOf(at + AHEAD_MS) === today ? [today] : [today, today + 1]
      for (const day of needed) {
        const salt = await findOrMake(connected, day, kept.get(day))
        if (isClosed) salt.fill(0)
        else keep(day, salt)
      }
      reported = undefined
    } catch (error) {
      const { message } = error as Error
      if (isClosed || message === reported) return
      reported = message
      onError(error)
    }
  }

  function startCheck(): Promise<void> {
    checking ??= check().finally(() => {
      checking = undefined
    })
    return checking
  }

  const ready = startCheck()
  const timer = setInterval(startCheck, CHECK_MS)
  timer.unref()

  return {
    ready,
    daySalt(at) {
      const salt = kept.get(dayOf(at))
      if (salt) return salt
      if (Math.abs(now() - checkedAt) > RETRY_MS) startCheck()
      throw new Unavailable('The salt of the day is not known: the cluster does not answer', 5)
    },
    close() {
      isClosed = true
      clearInterval(timer)
      forget(() => true)
    },
  }
}

const BARRIER = `${SUBJECTS}barrier`

/** @param own The salt in memory, for a bucket that has lost it. */
async function findOrMake(
  { js, jsm }: Broker,
  day: number,
  own: Buffer | undefined,
): Promise<Buffer> {
  const subject = SUBJECTS + day
  for (;;) {
    const stored = await jsm.streams.getMessage(STREAM, { last_by_subj: subject })
    if (stored?.data.length === SALT_BYTES) return Buffer.from(stored.data)
    const salt = own ? Buffer.from(own) : randomBytes(SALT_BYTES)
    try {
      await js.publish(subject, salt, { expect: { lastSubjectSequence: stored?.seq ?? 0 } })
      // Salts that arrive at the same moment are all stored, and the last one counts (see leases.ts). This is stored
      // after them.
      await js.publish(BARRIER, undefined)
    } catch (error) {
      // Another gateway was first: its salt counts. Other errors are for the next check.
      if (!(error instanceof JetStreamApiError && WRONG_SEQUENCE.includes(error.code))) throw error
    } finally {
      salt.fill(0)
    }
  }
}

async function erase({ jsm }: Broker, isOver: (day: number) => boolean): Promise<void> {
  const { state } = await jsm.streams.info(STREAM, { subjects_filter: `${SUBJECTS}>` })
  for (const subject of Object.keys(state.subjects ?? {})) {
    if (!isOver(Number(subject.slice(SUBJECTS.length)))) continue
    const stored = await jsm.streams.getMessage(STREAM, { last_by_subj: subject })
    // Several gateways do so at once. The first one succeeds.
    if (stored) await jsm.streams.deleteMessage(STREAM, stored.seq, true).catch(ignoreMissing)
  }
}

function ignoreMissing(error: Error): void {
  if (!(error instanceof JetStreamApiError)) throw error
}
