import { expect, test } from 'vitest'
import { inBatches } from './batches.ts'

/** Items that come when they are sent. */
function createSource() {
  const items: number[] = []
  let wake = () => {}
  let failure: Error | undefined
  let isEnded = false
  async function* read() {
    for (;;) {
      while (items.length > 0) yield items.shift() as number
      if (failure) throw failure
      if (isEnded) return
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }
  return {
    read,
    send(...sent: readonly number[]) {
      items.push(...sent)
      wake()
    },
    end(error?: Error) {
      failure = error
      isEnded = true
      wake()
    },
  }
}

test('a batch is what has arrived, and at most as much as is asked for', async () => {
  const source = createSource()
  const batches = inBatches(source.read(), 3)
  source.send(1, 2)
  expect(await batches.next()).toMatchObject({ value: [1, 2] })
  const next = batches.next()
  source.send(3, 4, 5, 6)
  expect(await next).toMatchObject({ value: [3, 4, 5] })
  expect(await batches.next()).toMatchObject({ value: [6] })
  source.send(7)
  source.end()
  expect(await batches.next()).toMatchObject({ value: [7] })
  expect(await batches.next()).toMatchObject({ done: true })
})

test('what has arrived before an error comes before it', async () => {
  const source = createSource()
  const batches = inBatches(source.read(), 3)
  source.send(1)
  source.end(new Error('The connection is lost'))
  expect(await batches.next()).toMatchObject({ value: [1] })
  await expect(batches.next()).rejects.toThrow('The connection is lost')
})

test('a reader can leave while nothing comes', async () => {
  const source = createSource()
  source.send(1)
  for await (const batch of inBatches(source.read(), 3)) {
    expect(batch).toEqual([1])
    break
  }
})
