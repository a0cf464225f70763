import { weigh } from '../collect/eventLog.ts'
import type { Destination } from '../forward/destination.ts'
import { MAX_LETTERS } from '../forward/forwarding.ts'
import { isAmong } from '../forward/operations.ts'
import { orderingKeyOf } from '../forward/orderingKey.ts'
import { type Prepared, prepareEvent } from '../forward/prepareEvent.ts'
import type { Batch, Item, Outcome, RefusedItem, Source, Tried } from '../forward/source.ts'
import type { ForwardLog, ForwardRecord } from './forwardLog.ts'
import type { ForwardStore, Position } from './forwardStore.ts'
import type { Letter, Refused } from './letterRows.ts'

/** Rows of the log after its position that a destination looks at. Those between that are settled are in memory. */
const MAX_ROWS = 1_000
/** A batch ends with the event that reaches this size, bytes as `weigh` counts them. */
const MAX_BYTES = 65_536
/** Letters in a batch, so that letters that fail leave room for the events of the log. */
const MAX_LETTERS_AT_ONCE = 50

/** What a source uses. */
export type SourceDependencies = {
  readonly store: ForwardStore
  readonly log: ForwardLog
  readonly destination: Destination
  /** See Kind. */
  readonly keepsLast: boolean
  /** The owner of its lease. */
  readonly owner: string
}

type LogItem = Item & { readonly record: ForwardRecord }
type LetterItem = Item & { readonly letter: Letter }

/** A row of the log after the position. */
type Row = {
  readonly position: Position
  /** Whether the retention has removed it. */
  readonly isLost: boolean
  /** Whether it must be settled before the position may pass it. */
  readonly isOpen: boolean
  /** Undefined if it is not open, or waits for another one of its device. */
  readonly item?: LogItem
}

const REPLACED: Prepared = {
  ok: false,
  reason: 'It would overwrite a newer content or status of the same order. Discard this letter',
}

const NONE_TRIED: Tried = { has: () => false, isWaiting: () => false }

/**
 * The events of a destination in the SQLite log. If the log was replaced by a backup, the position is moved to the same
 * time.
 */
export function createForwardSource(dependencies: SourceDependencies): Source {
  const { store, log, destination, keepsLast, owner } = dependencies
  const { id, customer } = destination
  let letterCount = store.letters.count(id)
  /** Positions after the one of the destination that are settled. */
  const settled = new Set<number>()
  let position = locate()
  let rows: readonly Row[] = []
  let letters: readonly LetterItem[] = []
  /** Positions of letters whose event was removed from the log. */
  let goneLetters: readonly number[] = []

  function locate(): Position {
    const stored = store.progress(id)
    return log.locate(customer, stored ?? log.end())
  }

  const isWanted = ({ operation, bot, isCookieless }: ForwardRecord): boolean =>
    isAmong(destination.operations, operation) &&
    (destination.takesBots || !bot) &&
    (destination.takesCookieless || !isCookieless)

  function readLetters(max: number): void {
    const gone: number[] = []
    letters = store.letters.replayed(id, Math.min(max, MAX_LETTERS_AT_ONCE)).flatMap((letter) => {
      const record = log.find(customer, letter.seq, letter.eventId)
      if (record) return [{ ...toItem(record, letter), letter }]
      gone.push(letter.seq)
      return []
    })
    goneLetters = gone
  }

  function readRows(max: number, tried: Tried): Pick<Batch, 'hasMore' | 'isAtLimit'> {
    const found: Row[] = []
    const sweptTo = log.swept(customer)
    const failed = new Set(letters.filter(tried.has).map(({ device }) => device))
    let items = 0
    let bytes = 0
    let isCut = false
    let count = 0
    for (const record of log.read(customer, position.seq, MAX_ROWS)) {
      isCut = items >= max || bytes >= MAX_BYTES
      if (isCut) break
      count++
      const isRemoved = record.operation === ''
      const isOpen = !isRemoved && isWanted(record) && !settled.has(record.seq)
      const item = isOpen ? { ...toItem(record), record } : undefined
      const isBehind = item !== undefined && failed.has(item.device)
      if (item && !isBehind) {
        if (tried.has(item)) failed.add(item.device)
        if (!tried.isWaiting(item)) {
          items++
          bytes += weigh(record)
        }
      }
      found.push({
        position: {
          seq: record.seq,
          event: record.id,
          receivedAt: isRemoved ? position.receivedAt : record.receivedAt,
        },
        isLost: isRemoved && record.seq <= sweptTo,
        isOpen,
        ...(item && !isBehind && { item }),
      })
    }
    rows = found
    const isAtLimit = count === MAX_ROWS
    return { hasMore: isCut || isAtLimit, isAtLimit }
  }

  function toItem(record: ForwardRecord, letter?: Letter): Item {
    return {
      seq: record.seq,
      isLetter: letter !== undefined,
      device: orderingKeyOf(record),
      prepare: () => prepare(record, letter),
    }
  }

  function prepare(record: ForwardRecord, letter?: Letter): Prepared {
    try {
      if (letter && keepsLast && log.isReplaced(record)) return REPLACED
      return prepareEvent(record, destination, letter?.patch, (number) =>
        log.order(customer, number),
      )
    } catch (error) {
      return { ok: false, reason: `Its payload can not be read: ${(error as Error).message}` }
    }
  }

  function isFull(): boolean {
    // Others may have removed some.
    if (letterCount >= MAX_LETTERS) letterCount = store.letters.count(id)
    return letterCount >= MAX_LETTERS
  }

  return {
    read(max, tried = NONE_TRIED): Batch {
      // A position behind the end is that of a log that was replaced while this was running.
      if (log.end().seq < position.seq) {
        position = log.locate(customer, position)
        settled.clear()
      }
      readLetters(max)
      rows = []
      const ended = isFull()
        ? { hasMore: false, isAtLimit: false }
        : readRows(Math.max(1, max - letters.length), tried)
      return { items: [...letters, ...rows.flatMap(({ item }) => item ?? [])], ...ended }
    },
    settle({ delivered, refused, failed }: Outcome): boolean {
      const done = new Set(
        [...delivered, ...refused.map(({ item }) => item)]
          .filter(({ isLetter }) => !isLetter)
          .map(({ seq }) => seq),
      )
      const open = rows.findIndex((row) => row.isOpen && !done.has(row.position.seq))
      const passed = open < 0 ? rows : rows.slice(0, open)
      const next = passed.at(-1)?.position
      const settledLetters = [...delivered.map(({ seq }) => seq), ...goneLetters]
      if (next || done.size + settledLetters.length + refused.length + failed > 0) {
        const isMine = store.settle(id, owner, {
          position: next,
          delivered: delivered.length,
          failed,
          lost: passed.filter(({ isLost }) => isLost).length,
          refused: refused.map(toRefused),
          settledLetters,
        })
        if (!isMine) return false
      }
      if (next) position = next
      for (const seq of done) settled.add(seq)
      for (const seq of settled) if (seq <= position.seq) settled.delete(seq)
      letterCount += refused.length
      rows = []
      letters = []
      goneLetters = []
      return true
    },
    isFull,
    setState: (state) => store.setState(id, state),
  }

  function toRefused({ item, ...refusal }: RefusedItem): Refused {
    const known = letters.find((letter) => item.isLetter && letter.seq === item.seq)?.letter
    const record = rows.find((row) => row.item?.seq === item.seq)?.item?.record
    return {
      ...refusal,
      seq: item.seq,
      eventId: known?.eventId ?? (record?.id as string),
      operation: known?.operation ?? (record?.operation as string),
    }
  }
}
