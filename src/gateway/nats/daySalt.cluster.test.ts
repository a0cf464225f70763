import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest'
import { takeAccount } from '../../test/sharedCluster.ts'
import { type Broker, connectBroker } from './broker.ts'
import { AHEAD_MS, CHECK_MS, createNatsDaySalt } from './daySalt.ts'
import { SALTS_BUCKET } from './names.ts'

const DAY_MS = 86_400_000
const STREAM = `KV_${SALTS_BUCKET}`
const account = takeAccount()
const brokers = [await connectBroker(account), await connectBroker(account)] as const
const { jsm } = brokers[0]
afterAll(async () => {
  for (const broker of brokers) await broker.close()
})

let clock = 20_000 * DAY_MS + DAY_MS / 2
let opened: { close(): void }[] = []
const errors: unknown[] = []

// Only the interval: the client of the cluster has timers of its own.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
})
afterEach(() => {
  for (const salt of opened) salt.close()
  opened = []
  vi.useRealTimers()
  expect(errors).toEqual([])
})

function open(broker: Broker | Promise<Broker> = brokers[0]) {
  const salt = createNatsDaySalt(
    broker,
    () => clock,
    (error) => errors.push(error),
  )
  opened.push(salt)
  return { ...salt, hex: () => salt.daySalt(clock).toString('hex') }
}

const days = async (): Promise<number[]> => {
  const { state } = await jsm.streams.info(STREAM, { subjects_filter: '>' })
  return Object.keys(state.subjects ?? {})
    .filter((name) => !name.endsWith('barrier'))
    .map((subject) => Number(subject.split('.').at(-1)))
}

const today = () => Math.floor(clock / DAY_MS)
const PATIENCE_MS = 20_000

test('all gateways have one salt of 32 bytes for a day, also after a restart', async () => {
  const [first, second] = brokers.map((broker) => open(broker))
  await Promise.all([first?.ready, second?.ready])
  const hex = first?.hex()
  expect(hex).toMatch(/^[\da-f]{64}$/)
  expect(second?.hex()).toBe(hex)
  first?.close()
  const again = open()
  expect(again.hex).toThrow('The salt of the day is not known')
  await again.ready
  expect(again.hex()).toBe(hex)
  expect(await days()).toEqual([today()])
})

test('that of tomorrow is there before midnight, and that of yesterday is erased everywhere', async () => {
  const [first, second] = brokers.map((broker) => open(broker))
  await Promise.all([first?.ready, second?.ready])
  const kept = first?.daySalt(clock) as Buffer
  const { seq } = (await jsm.streams.getMessage(STREAM, {
    last_by_subj: `$KV.${SALTS_BUCKET}.${today()}`,
  })) as { seq: number }
  clock = (today() + 1) * DAY_MS - AHEAD_MS
  vi.advanceTimersByTime(CHECK_MS)
  await vi.waitFor(async () => {
    expect((await days()).sort()).toEqual([today(), today() + 1])
    for (const salt of [first, second]) salt?.daySalt(clock + AHEAD_MS)
  }, PATIENCE_MS)
  clock += AHEAD_MS
  expect(first?.hex()).toBe(second?.hex())
  vi.advanceTimersByTime(CHECK_MS)
  await vi.waitFor(async () => expect(await days()).toEqual([today()]), PATIENCE_MS)
  expect(kept.every((byte) => byte === 0)).toBe(true)
  expect(await jsm.streams.getMessage(STREAM, { seq })).toBeNull()
})

test('a salt that the bucket has lost is put back, and those of a wrong clock are erased', async () => {
  const first = open()
  await first.ready
  const hex = first.hex()
  const right = clock
  clock += 1_000 * DAY_MS
  const wrong = open(brokers[1])
  await wrong.ready
  // Otherwise it would make a salt of today too, as soon as its clock is right.
  wrong.close()
  clock = right
  expect(await days()).toEqual([today() + 1_000])
  vi.advanceTimersByTime(CHECK_MS)
  await vi.waitFor(async () => expect(await days()).toEqual([today()]), PATIENCE_MS)
  const second = open(brokers[1])
  await second.ready
  expect(second.hex()).toBe(hex)
})

test('while the cluster is away there is no salt, and afterwards there is', async () => {
  let connect = (_: Broker) => {}
  const salt = open(
    new Promise((resolve) => {
      connect = resolve
    }),
  )
  expect(salt.hex).toThrow('The salt of the day is not known')
  connect(brokers[0])
  await salt.ready
  expect(salt.hex()).toMatch(/^[\da-f]{64}$/)
})
