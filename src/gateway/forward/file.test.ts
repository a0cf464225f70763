import {
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { safeParse } from 'valibot'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { readDayFile, readSeqs } from '../../test/dayFile.ts'
import { makeForwardEvent } from '../../test/forwardEvents.ts'
import { makeFolder } from '../../test/gateway.ts'
import { openDayFiles } from './dayFiles.ts'
import { file } from './file.ts'
import type { Delivery, ForwardEvent, Sender } from './kind.ts'

const DAY = 86_400_000
const NOON = Date.UTC(2026, 10, 29, 12)
const PART = '2026-11-29.ndjson.part'
const FINISHED = '2026-11-29.ndjson.gz'

let base: string
let folder: string
let now: number
let opened: Sender[]

beforeEach(() => {
  base = makeFolder()
  folder = join(base, 'out')
  now = NOON
  opened = []
})
afterEach(async () => {
  await Promise.all(opened.map((sender) => sender.close()))
  rmSync(base, { recursive: true, force: true })
})

function open(settings: { folder?: string; keepDays?: number } = {}, destinationId = 'f1'): Sender {
  const sender = file.open(settings, {
    destinationId,
    customer: 'acme',
    refundStatuses: () => [],
    folder,
    fetch,
    now: () => now,
  })
  opened.push(sender)
  return sender
}

const send = (sender: Sender, events: readonly ForwardEvent[]): Promise<readonly Delivery[]> =>
  sender.send(events, new AbortController().signal)

/** Events with the numbers, by default of noon. */
const events = (from: number, to: number, receivedAt = NOON): ForwardEvent[] =>
  Array.from({ length: to - from + 1 }, (_, i) => makeForwardEvent(from + i, { receivedAt }))

const delivered = (count: number): Delivery[] => Array(count).fill({ status: 'delivered' })

const zcat = (name: string) => readDayFile(join(folder, name))
const seqs = (name: string): number[] => readSeqs(join(folder, name))

const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i)

const names = (): string[] => readdirSync(folder).sort()

test('writes lines of the documented shape into the file of the day, readable by zcat', async () => {
  const sender = open()
  const [event] = events(1, 1) as [ForwardEvent]
  expect(await send(sender, [event])).toEqual(delivered(1))
  expect(await send(sender, events(2, 5))).toEqual(delivered(4))
  expect(names()).toEqual(['.destination', PART])
  expect(zcat(PART)[0]).toEqual({
    id: event.id,
    at: event.at,
    receivedAt: event.receivedAt,
    operation: 'viewProduct',
    event: 'view_product',
    did: 'd1',
    payload: event.payload,
  })
  expect(seqs(PART)).toEqual(range(1, 5))
})

test('only the owner can read folder and files', async () => {
  await send(open(), events(1, 1))
  expect(statSync(folder).mode & 0o777).toBe(0o700)
  for (const name of names()) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600)
})

test('writes each event into the file of the day on which it arrived', async () => {
  const midnight = Date.UTC(2026, 10, 30)
  now = midnight
  await send(open(), [
    ...events(1, 2, midnight - 1),
    ...events(3, 3, midnight),
    ...events(4, 4, midnight - 1),
  ])
  expect(seqs(PART)).toEqual([1, 2, 4])
  expect(seqs('2026-11-30.ndjson.part')).toEqual([3])
})

describe('a day that is over', () => {
  const tidyAt = async (sender: Sender, time: number) => {
    now = time
    await send(sender, events(900, 900, time))
  }

  test('gets its final name after ten quiet minutes, and its file does not change', async () => {
    const sender = open()
    await send(sender, events(1, 3))
    await tidyAt(sender, Date.UTC(2026, 10, 30, 0, 9, 59))
    expect(names()).toContain(PART)
    const before = readFileSync(join(folder, PART))
    await tidyAt(sender, Date.UTC(2026, 10, 30, 0, 10))
    expect(names()).toEqual(
      ['.destination', '.2026-11-29.used', FINISHED, '2026-11-30.ndjson.part'].sort(),
    )
    expect(readFileSync(join(folder, FINISHED))).toEqual(before)
    expect(statSync(join(folder, FINISHED)).mode & 0o777).toBe(0o600)
  })

  test('is finished without a further event', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    try {
      await send(open(), events(1, 1))
      now = Date.UTC(2026, 10, 30, 1)
      vi.advanceTimersByTime(60_000)
      await vi.waitFor(() => expect(names()).toContain(FINISHED))
    } finally {
      vi.useRealTimers()
    }
  })

  test('stays one file while old events are still sent', async () => {
    now = NOON + 5 * DAY
    const sender = open()
    for (let seq = 1; seq < 5; seq++) {
      await send(sender, events(seq, seq))
      now += 9 * 60_000
    }
    expect(names()).toEqual(['.destination', PART])
    expect(seqs(PART)).toEqual(range(1, 4))
  })

  test('gets one more file for events that come late', async () => {
    const sender = open()
    for (const seq of [1, 2, 3]) {
      await send(sender, events(seq, seq))
      await tidyAt(sender, now + DAY)
    }
    const late = ['2026-11-29-2.ndjson.gz', '2026-11-29-3.ndjson.gz']
    expect(names()).toEqual(expect.arrayContaining([FINISHED, ...late]))
    expect([FINISHED, ...late].map(seqs)).toEqual([[1], [2], [3]])
  })

  test('gets no name again that another file had that was taken away', async () => {
    const sender = open()
    await send(sender, events(1, 1))
    await tidyAt(sender, NOON + DAY)
    unlinkSync(join(folder, FINISHED))
    await send(sender, events(2, 2))
    await tidyAt(sender, NOON + 2 * DAY)
    expect(names()).not.toContain(FINISHED)
    expect(seqs('2026-11-29-2.ndjson.gz')).toEqual([2])
  })

  test('is deleted when it was kept long enough, and nothing else is', async () => {
    const sender = open({ keepDays: 2 })
    await send(sender, events(1, 1))
    await tidyAt(sender, NOON + DAY)
    writeFileSync(join(folder, '2026-01-01.csv'), '')
    writeFileSync(join(folder, '2026-01-01.ndjson.part'), '')
    await tidyAt(sender, NOON + 2 * DAY)
    expect(names()).toContain(FINISHED)
    await tidyAt(sender, NOON + 3 * DAY)
    expect(names()).not.toContain(FINISHED)
    expect(names()).not.toContain('.2026-11-29.used')
    expect(names()).toEqual(
      expect.arrayContaining(['2026-01-01.csv', '2026-01-01.ndjson.part', '2026-11-30.ndjson.gz']),
    )
  })
})

describe('events that are sent again', () => {
  test('are not written twice, by the same sender or the next one', async () => {
    const sender = open()
    await send(sender, events(1, 3))
    expect(await send(sender, events(2, 5))).toEqual(delivered(4))
    expect(await send(open(), events(1, 6))).toEqual(delivered(6))
    expect(seqs(PART)).toEqual(range(1, 6))
  })

  test('nor if their batch is in the files of two days, or of one that is finished', async () => {
    const midnight = Date.UTC(2026, 10, 30)
    const batch = [...events(1, 2, midnight - 1), ...events(3, 4, midnight)]
    await send(open(), batch)
    now = midnight + 60_000
    await send(open(), batch)
    expect([seqs(PART), seqs('2026-11-30.ndjson.part')]).toEqual([range(1, 2), range(3, 4)])

    const sender = open()
    now = midnight + DAY + 600_000
    await send(sender, events(5, 5, midnight))
    await send(sender, events(5, 5, midnight))
    now = midnight + 3 * DAY
    await send(sender, events(6, 6, now))
    expect(names()).toContain('2026-11-30.ndjson.gz')
    await send(open(), events(5, 5, midnight))
    expect(names()).not.toContain('2026-11-30.ndjson.part')
  })
})

describe('a folder that can not be used fails', () => {
  const FAILED = (reason: string) => [{ status: 'failed', reason }]

  test('if the disk is full, and works again when it is not', async () => {
    mkdirSync(folder)
    symlinkSync('/dev/full', join(folder, PART))
    const sender = open()
    expect(await send(sender, events(1, 1))).toEqual(FAILED('The disk is full (ENOSPC)'))
    unlinkSync(join(folder, PART))
    expect(await send(sender, events(1, 1))).toEqual(delivered(1))
    expect(seqs(PART)).toEqual([1])
  })

  test.each([
    [256, 10_000, true],
    [255, 10_000, false],
    [50, 1_000, true],
    [49, 1_000, false],
  ])('if %i MiB of a disk of %i MiB are left: %s', async (left, size, isTaken) => {
    const MIB = 2 ** 20
    const files = await openDayFiles({
      ...{ folder, owner: 'f1', keepDays: 1, now: () => now },
      readSpace: async () => ({ left: left * MIB, size: size * MIB }),
    })
    const appended = files.append('2026-11-29', [{ id: 'a', line: '{"id":"a"}' }])
    if (isTaken) await appended
    else await expect(appended).rejects.toThrow('The disk is nearly full')
  })

  test('if its parent is missing, and works when it is there', async () => {
    const inner = join(base, 'warehouse', 'in')
    const sender = open({ folder: inner })
    expect(await send(sender, events(1, 1))).toEqual(
      FAILED('The folder, or the folder above it, does not exist (ENOENT)'),
    )
    mkdirSync(join(base, 'warehouse'))
    expect(await send(sender, events(1, 1))).toEqual(delivered(1))
    expect(readdirSync(inner)).toContain(PART)
  })

  test('if it is a file', async () => {
    writeFileSync(folder, '')
    const [result] = await send(open(), events(1, 1))
    expect(result).toEqual({ status: 'failed', reason: 'The folder is not a folder (ENOTDIR)' })
  })

  test('if it belongs to another destination', async () => {
    await send(open(), events(1, 1))
    expect(await send(open({}, 'f2'), events(2, 2))).toEqual(
      FAILED(
        'The folder belongs to destination f1. Choose another one, or delete .destination in it if that destination is gone',
      ),
    )
    expect(seqs(PART)).toEqual([1])
  })

  test('once if somebody else has written to a file, which is then read again', async () => {
    const [first, second] = [open(), open()]
    await send(first, events(1, 1))
    await send(second, events(2, 2))
    expect(await send(first, events(2, 3))).toEqual(
      Array(2).fill(FAILED(`${PART} was changed by somebody else`)[0]),
    )
    expect(await send(first, events(2, 3))).toEqual(delivered(2))
    expect(seqs(PART)).toEqual(range(1, 3))
  })

  test('once if its file was taken away', async () => {
    const sender = open()
    await send(sender, events(1, 1))
    unlinkSync(join(folder, PART))
    expect((await send(sender, events(2, 2)))[0]?.status).toBe('failed')
    expect(await send(sender, events(2, 2))).toEqual(delivered(1))
    expect(seqs(PART)).toEqual([2])
  })
})

test('an attempt that is ended fails, and its events are written once', async () => {
  const sender = open()
  const attempt = new AbortController()
  const sent = sender.send(events(1, 3), attempt.signal)
  attempt.abort()
  expect(await sent).toEqual(Array(3).fill({ status: 'failed', reason: 'The attempt was ended' }))
  expect(await send(sender, events(1, 3))).toEqual(delivered(3))
  expect(seqs(PART)).toEqual(range(1, 3))
})

describe('settings', () => {
  const faultsOf = (value: unknown) =>
    (safeParse(file.settings, value).issues ?? []).map(({ message }) => message)

  test.each([{}, { folder: '/srv/in' }, { keepDays: 1 }, { keepDays: 3_650 }])('take %j', (value) =>
    expect(faultsOf(value)).toEqual([]),
  )

  test.each([
    [{ folder: 'in' }, 'Expected the absolute path of a folder'],
    [{ folder: '/srv\0/in' }, 'Expected the absolute path of a folder'],
    [{ keepDays: 0 }, 'Expected a number of days from 1 to 3650'],
    [{ keepDays: 1.5 }, 'Expected a number of days from 1 to 3650'],
    [{ keepDays: '7' }, 'Expected a number of days from 1 to 3650'],
    [
      { keepdays: 7 },
      'There is no such setting. Known are folder, keepDays. Did you mean keepDays?',
    ],
  ])('refuse %j', (value, expected) => {
    expect(faultsOf(value)).toHaveLength(1)
    expect(faultsOf(value)[0]).toContain(expected)
  })
})

test('is described by its folder', () => {
  expect(file.describe({ folder: '/srv/in' })).toBe('/srv/in')
  expect(file.describe({})).toBe('its folder in the data folder')
})
