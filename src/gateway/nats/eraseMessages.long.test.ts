import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeLogEvent, publishEvent } from '../../test/followers.ts'
import { startNatsCluster } from '../../test/natsCluster.ts'
import { connectBroker } from './broker.ts'
import { eraseMessages } from './eraseMessages.ts'
import { streamOf } from './names.ts'

const MARK = 'unmistakable'

/** The files in a folder that contain the mark, without the name of their folder above. */
const marked = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => {
      try {
        return readFileSync(path).includes(MARK)
      } catch {
        // The node has removed it meanwhile.
        return false
      }
    })
    .map((path) => path.slice(folder.length + 1))

/** What docs/people.md says of the nodes' own log: it is compacted every two minutes. */
test('an erased message is overwritten in the files of the stream at once, and later in the log of the nodes', async () => {
  const cluster = await startNatsCluster()
  try {
    const broker = await connectBroker({ ...cluster.takeAccount(), partitions: 1 })
    const seqs: number[] = []
    for (let i = 0; i < 200; i++)
      seqs.push(
        await publishEvent(
          broker,
          makeLogEvent({ customer: 'shop', payload: `{"search_term":"${i % 2 ? MARK : 'mug'}"}` }),
        ),
      )
    expect(marked(cluster.folder)).not.toEqual([])
    await eraseMessages(
      broker.jsm,
      streamOf(0),
      seqs.filter((_, i) => i % 2 === 1),
    )
    const erasedAt = performance.now()
    const inStreams = () => marked(cluster.folder).filter((path) => path.includes('streams'))
    expect(inStreams()).toEqual([])
    await expect
      .poll(() => marked(cluster.folder), { timeout: 600_000, interval: 1_000 })
      .toEqual([])
    console.log(`Gone from every file after ${Math.round((performance.now() - erasedAt) / 1000)} s`)
    const { state } = await broker.jsm.streams.info(streamOf(0))
    expect(state.messages).toBe(100)
    await broker.close()
  } finally {
    await cluster.end()
  }
})
