import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { webhook } from './gateway/forward/webhook.ts'
import { makeForwardEvent } from './test/forwardEvents.ts'
import { makeFolder } from './test/gateway.ts'

/** The example receiver of docs/forwarding.md, as it is there. */
const root = new URL('../', import.meta.url)
const PAGE = readFileSync(new URL('docs/forwarding.md', root), 'utf8')
const EXAMPLE = /```js\n(.*?)```/s.exec(PAGE)?.[1] as string

const makeSecret = (byte: number): string => `whsec_${Buffer.alloc(32, byte).toString('base64')}`

test('the example receiver of the documentation keeps each signed event once', async () => {
  const folder = makeFolder()
  writeFileSync(join(folder, 'receiver.mjs'), EXAMPLE)
  const receiver = spawn(process.execPath, [join(folder, 'receiver.mjs')], {
    env: { SECRET: makeSecret(1), PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines = createInterface(receiver.stdout)[Symbol.asyncIterator]()
  const next = async () => (await lines.next()).value as string
  try {
    const port = /listening on (\d+)/.exec(await next())?.[1]
    const send = (secret: string, seqs: readonly number[], now = Date.now()) =>
      webhook
        .open(
          { url: `http://127.0.0.1:${port}/`, secret },
          {
            destinationId: 'd1',
            customer: 'acme',
            refundStatuses: () => [],
            folder,
            fetch,
            now: () => now,
          },
        )
        .send(
          seqs.map((seq) => makeForwardEvent(seq)),
          new AbortController().signal,
        )
    const statuses = async (...sent: Parameters<typeof send>) =>
      (await send(...sent)).map(({ status }) => status)

    expect(await statuses(makeSecret(2), [1])).toEqual(['failed'])
    expect(await statuses(makeSecret(1), [1], Date.now() - 400_000)).toEqual(['failed'])
    expect(await statuses(makeSecret(1), [1, 2])).toEqual(['delivered', 'delivered'])
    expect(await statuses(`${makeSecret(2)} ${makeSecret(1)}`, [1, 2, 3])).toEqual(
      Array(3).fill('delivered'),
    )
    const ids = [1, 2, 3].map((seq) => `viewProduct ${makeForwardEvent(seq).id}`)
    expect([await next(), await next(), await next()]).toEqual(ids)
  } finally {
    receiver.kill()
    await once(receiver, 'exit')
    rmSync(folder, { recursive: true, force: true })
  }
})
