import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { headers } from '@nats-io/transport-node'
import Database from 'better-sqlite3'
import { afterAll, expect, test, vi } from 'vitest'
import { makeFolder } from '../../test/gateway.ts'
import { takeAccount } from '../../test/sharedCluster.ts'
import { silenceFirstConsumer } from '../../test/silentConsumer.ts'
import { createMirrorRows } from '../sqlite/mirrorRows.ts'
import { type Broker, connectBroker } from './broker.ts'
import { type Mirror, openMirror } from './mirror.ts'
import { BARRIER, OPERATION, toEntryKey } from './mirrorEntries.ts'
import { MAX_ROW_BYTES } from './mirrorWriter.ts'
import { CUSTOMERS_BUCKET, DERIVED_BUCKET } from './names.ts'
import { findPassing } from './passing.ts'
import { purgeTombstones, TOMBSTONE_MS } from './tombstones.ts'

/** Long, for busy machines. A test waits more than once. */
vi.setConfig({ testTimeout: 180_000 })
const PATIENCE = { timeout: 60_000, interval: 50 }

const folder = makeFolder()
const ends: (() => Promise<void>)[] = []
const account = takeAccount()
const connect = async (): Promise<Broker> => {
  const broker = await connectBroker(account)
  ends.push(() => broker.close())
  return broker
}
const first = await connect()
const second = await connect()
afterAll(async () => {
  for (const end of ends.reverse()) await end()
  rmSync(folder, { recursive: true })
})

let files = 0
let prefixes = 0

/** Whether an error is one of a busy cluster, after which a mirror tries again. */
const isPassing = (error: unknown): boolean => findPassing(error) !== undefined

const TABLE =
  'CREATE TABLE IF NOT EXISTS shops (id TEXT PRIMARY KEY, name TEXT UNIQUE, n INTEGER) STRICT'

function open(
  broker: Broker,
  prefix: string,
  isExclusive = false,
  file = join(folder, `${++files}.db`),
) {
  const database = new Database(file)
  database.pragma('journal_mode = WAL')
  database.exec(TABLE)
  const errors: string[] = []
  const mirror = openMirror({
    rows: createMirrorRows(database, [{ table: 'shops', key: ['id'] }]),
    ...{ broker, prefix, isExclusive },
    bucket: isExclusive ? CUSTOMERS_BUCKET : DERIVED_BUCKET,
    onError(error) {
      if (!isPassing(error)) errors.push((error as Error).message)
    },
  })
  ends.push(async () => {
    await mirror.close()
    if (database.open) database.close()
  })
  const shops = () =>
    database.prepare<[], string>("SELECT id || '=' || name FROM shops ORDER BY id").pluck().all()
  const put = (id: string, name: string) =>
    database.prepare('INSERT OR REPLACE INTO shops VALUES (?, ?, 1)').run(id, name)
  return { file, database, mirror, errors, shops, put }
}

/** Two replicas of the same rows. */
async function openTwo(isExclusive = false) {
  const prefix = isExclusive ? '' : `${++prefixes}.`
  const one = open(first, prefix, isExclusive)
  const two = open(second, prefix, isExclusive)
  await Promise.all([one.mirror.ready, two.mirror.ready])
  return { one, two, prefix }
}

/** Tries again: one time-out of the cluster takes as long as a mirror waits. */
const untilStored = ({ mirror }: { readonly mirror: Mirror }) =>
  vi.waitFor(() => mirror.flush(), PATIENCE)
const untilCaughtUp = ({ mirror }: { readonly mirror: Mirror }) =>
  vi.waitFor(() => mirror.catchUp(), PATIENCE)

const failure = (mirror: Mirror): Promise<Error | undefined> =>
  mirror.flush().then(
    () => undefined,
    (error) => error,
  )

test('changes of each side come to the other one, also those of another connection', async () => {
  const { one, two, prefix } = await openTwo()
  one.put('a.b *', 'A')
  one.put('', 'empty')
  await untilStored(one)
  await vi.waitFor(() => expect(two.shops()).toEqual(['=empty', 'a.b *=A']), PATIENCE)
  two.database.exec("DELETE FROM shops WHERE id = ''; UPDATE shops SET name = 'B'")
  await untilStored(two)
  await vi.waitFor(() => expect(one.shops()).toEqual(['a.b *=B']), PATIENCE)
  const other = new Database(one.file)
  other.exec("INSERT INTO shops VALUES ('', 'again', 1)")
  other.close()
  await vi.waitFor(() => expect(two.shops()).toEqual(['=again', 'a.b *=B']), PATIENCE)
  const third = open(second, prefix)
  await third.mirror.ready
  expect(third.shops()).toEqual(two.shops())
  expect([one, two, third].flatMap(({ errors }) => errors)).toEqual([])
})

test('a mirror that is opened while rows change has all of them', async () => {
  const prefix = `${++prefixes}.`
  let isOver = false
  /** Replaces the rows again and again. */
  async function write({ js }: Broker, n: number): Promise<void> {
    for (; !isOver; n += 2) {
      const key = toEntryKey('shops', [`${n % 3}`])
      const row = JSON.stringify({ id: `${n % 3}`, name: `${n % 3}`, n })
      await js.publish(`$KV.${DERIVED_BUCKET}.${prefix}${key}`, row)
    }
  }
  const writers = [write(first, 0), write(second, 1)]
  // With each of them the count of pending messages may stay too high, or not.
  const opened: ReturnType<typeof open>[] = []
  while (opened.length < 10) {
    opened.push(open(second, prefix))
    await delay(20)
  }
  isOver = true
  await Promise.all(writers)
  const numbers = ({ database }: (typeof opened)[number]) =>
    database.prepare('SELECT n FROM shops ORDER BY id').pluck().all()
  const one = open(first, prefix)
  await Promise.all([one, ...opened].map(({ mirror }) => mirror.ready))
  await Promise.all(opened.map(untilCaughtUp))
  expect(numbers(one)).toHaveLength(3)
  for (const other of opened) expect(numbers(other)).toEqual(numbers(one))
})

test('a mirror whose consumer brings nothing reads by another one', async () => {
  const { one, prefix } = await openTwo()
  one.put('here', 'here')
  await untilStored(one)
  const { broker, held } = silenceFirstConsumer(second)
  const other = open(broker, prefix)
  await other.mirror.ready
  expect(held()).toBeGreaterThan(0)
  expect(other.shops()).toEqual(['here=here'])
  expect(other.errors).toEqual([])
})

test('an own change that comes back before it is settled is not one of others', async () => {
  const database = new Database(join(folder, `${++files}.db`))
  database.exec(TABLE)
  const put = (name: string) =>
    database.prepare('INSERT OR REPLACE INTO shops VALUES (1, ?, 1)').run(name)
  const real = createMirrorRows(database, [{ table: 'shops', key: ['id'] }])
  let onApply = () => {}
  const changes: unknown[] = []
  const mirror = openMirror({
    rows: {
      ...real,
      apply(...args) {
        onApply()
        return real.apply(...args)
      },
      async settle(settled) {
        // As slow as another thread, which changes the row again meanwhile.
        if (settled.some(({ value }) => value?.includes('first'))) put('second')
        await new Promise<void>((resolve) => {
          onApply = resolve
          setTimeout(resolve, 1_000)
        })
        real.settle(settled)
      },
    },
    ...{ broker: first, prefix: `${++prefixes}.`, bucket: DERIVED_BUCKET },
    onChange: (tables) => changes.push(tables),
    onError(error) {
      if (!isPassing(error)) changes.push(error)
    },
  })
  ends.push(async () => {
    await mirror.close()
    database.close()
  })
  await mirror.ready
  put('first')
  await untilStored({ mirror })
  expect(database.prepare('SELECT name FROM shops').pluck().get()).toBe('second')
  await untilCaughtUp({ mirror })
  expect(changes).toEqual([])
})

test('a mirror that is closed while it begins to watch the bucket ends', async () => {
  const database = new Database(join(folder, `${++files}.db`))
  database.exec(TABLE)
  const real = createMirrorRows(database, [{ table: 'shops', key: ['id'] }])
  let closed: Promise<void> | undefined
  const mirror = openMirror({
    rows: {
      ...real,
      finish(...args) {
        closed ??= mirror.close()
        return real.finish(...args)
      },
    },
    ...{ broker: first, prefix: `${++prefixes}.`, bucket: DERIVED_BUCKET, onError() {} },
  })
  await mirror.ready
  await closed
  database.close()
})

test.each([false, true])(
  'of two changes at once one is stored, exclusive: %s',
  async (exclusive) => {
    const { one, two } = await openTwo(exclusive)
    one.put('both', 'one')
    two.put('both', 'two')
    const failed = await Promise.all([failure(one.mirror), failure(two.mirror)])
    const [error] = failed.filter((found) => found !== undefined)
    expect(failed.filter((found) => found === undefined)).toHaveLength(1)
    expect(error).toMatchObject({ name: 'Unavailable', message: /another gateway/ })
    expect(one.mirror.conflicts() + two.mirror.conflicts()).toBe(1)
    const stored = failed[0] ? 'both=two' : 'both=one'
    await vi.waitFor(() => {
      for (const { shops } of [one, two]) expect(shops()).toContain(stored)
    }, PATIENCE)
  },
)

test('a unique value is given once, and nothing that belongs to the other row is stored', async () => {
  const { one, two } = await openTwo(true)
  one.put('first', 'Name')
  two.put('second', 'Name')
  two.put('second-more', 'More')
  const failed = await Promise.all([failure(one.mirror), failure(two.mirror)])
  expect(failed.filter((found) => found === undefined)).toHaveLength(1)
  await vi.waitFor(() => {
    expect(one.shops()).toEqual(two.shops())
    expect(one.shops().filter((shop) => shop.endsWith('=Name'))).toHaveLength(1)
  }, PATIENCE)
})

test('writers that store at the same time all succeed, if they change different rows', async () => {
  const { one, two } = await openTwo(true)
  for (let i = 0; i < 20; i++) {
    one.put(`one ${i}`, `one ${i}`)
    two.put(`two ${i}`, `two ${i}`)
  }
  await Promise.all([one, two].map(untilStored))
  await vi.waitFor(() => {
    expect(one.shops().filter((shop) => /^(one|two) /.test(shop))).toHaveLength(40)
    expect(two.shops()).toEqual(one.shops())
  }, PATIENCE)
})

test('a file that is opened again learns what happened meanwhile, and stores what it had not', async () => {
  const { one, two, prefix } = await openTwo()
  one.put('a', 'A')
  one.put('b', 'B')
  await untilStored(one)
  await vi.waitFor(() => expect(two.shops()).toHaveLength(2), PATIENCE)
  await two.mirror.close()
  two.put('here', 'here')
  two.database.close()
  one.database.exec("DELETE FROM shops WHERE id = 'a'")
  one.put('c', 'C')
  await untilStored(one)
  const again = open(second, prefix, false, two.file)
  await again.mirror.ready
  expect(again.shops()).toEqual(['b=B', 'c=C', 'here=here'])
  await vi.waitFor(() => expect(one.shops()).toContain('here=here'), PATIENCE)
})

/** The last tokens of the keys of the bucket, also of deleted rows that it remembers. */
async function keysOf(subjects: string) {
  const { state } = await first.jsm.streams.info(`KV_${DERIVED_BUCKET}`, {
    subjects_filter: `${subjects}>`,
  })
  return Object.keys(state.subjects ?? {}).map((name) => name.split('.').at(-1))
}

test('what the bucket remembers of deleted rows goes after a day, and the rows can come again', async () => {
  const { one, two, prefix } = await openTwo()
  for (const id of ['gone', 'again', 'kept']) one.put(id, id)
  await untilStored(one)
  one.database.exec("DELETE FROM shops WHERE id != 'kept'")
  await untilStored(one)
  one.put('again', 'once more')
  one.put('last', 'last')
  await untilStored(one)
  const subjects = `$KV.${DERIVED_BUCKET}.${prefix}`
  await purgeTombstones(first, `KV_${DERIVED_BUCKET}`, subjects, Date.now())
  expect(await keysOf(subjects)).toContain('gone')
  await purgeTombstones(first, `KV_${DERIVED_BUCKET}`, subjects, Date.now() + 2 * TOMBSTONE_MS)
  expect((await keysOf(subjects)).sort()).toEqual(['again', 'kept', 'last'])
  one.put('gone', 'back')
  await untilStored(one)
  await vi.waitFor(
    () => expect(two.shops()).toEqual(['again=once more', 'gone=back', 'kept=kept', 'last=last']),
    20_000,
  )
})

test('the marks of deleted rows are looked for to the end while rows change', async () => {
  const subjects = `$KV.${DERIVED_BUCKET}.${++prefixes}.`
  const subjectOf = (id: number) => subjects + toEntryKey('shops', [`${id}`])
  const operation = headers()
  operation.set(OPERATION, 'DEL')
  // More than are read at once, so that the marks, which are newer, come after the first batch.
  await Promise.all(Array.from({ length: 200 }, (_, id) => first.js.publish(subjectOf(id), '{}')))
  let isOver = false
  async function write({ js }: Broker): Promise<void> {
    while (!isOver) await js.publish(subjects + BARRIER)
  }
  const writers = [write(first), write(second)]
  try {
    // With each of them the count of pending messages may stay too high, or not.
    for (let id = 0; id < 10; id++) {
      await first.js.publish(subjectOf(id), '', { headers: operation })
      // The last message of the bucket would stay.
      await first.js.publish(subjects + BARRIER)
      await purgeTombstones(first, `KV_${DERIVED_BUCKET}`, subjects, Date.now() + 2 * TOMBSTONE_MS)
      expect(await keysOf(subjects)).not.toContain(`${id}`)
    }
  } finally {
    isOver = true
    await Promise.all(writers)
  }
  expect(await keysOf(subjects)).toHaveLength(200 - 10 + 1)
})

test('a row that is too large is undone, with the reason', async () => {
  const { one } = await openTwo()
  one.put('large', 'x'.repeat(MAX_ROW_BYTES))
  await expect(one.mirror.flush()).rejects.toThrow(/A row of shops has more than/)
  expect(one.shops()).toEqual([])
  await untilStored(one)
})
