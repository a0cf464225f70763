// A server in its own process that reports its CPU time and memory:
//
//   node e2e/benchServer.mjs bare                             a bare node:http server
//   node e2e/benchServer.mjs gateway FOLDER [LIMITS] [DIST] [CLUSTER]
//                                                             a built gateway; LIMITS as JSON, DIST by default ../dist,
//                                                             CLUSTER its option `cluster` as JSON
//
// It sends {url, trackingKeys, customerIds} of some customers when it listens, and answers the message 'usage' with {cpuMicros,
// mainMicros, rss}: CPU time so far of all its threads and of its main thread, and resident memory, bytes.
//
// The bare server reads a body, discards it, and answers 204. To GET it gives the answers of the last message {path:
// {status, headers, body}}, whose body is in base64.
//
// Not in TypeScript, since its loader would be measured too.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const [, , kind, dataDir, limits = '{}', dist, cluster] = process.argv
/** Enough for one in each partition of a cluster. */
const CUSTOMERS = cluster ? 16 : 2
const answers = new Map()
process.send(kind === 'bare' ? await startBare() : await startShipped())

process.on('message', (message) => {
  if (message !== 'usage')
    for (const [path, { status, headers, body }] of Object.entries(message))
      answers.set(path, { status, headers, body: Buffer.from(body, 'base64') })
  const { user, system } = process.cpuUsage()
  const cpuMicros = user + system
  process.send({ cpuMicros, mainMicros: readMainMicros(), rss: process.memoryUsage.rss() })
})
process.on('disconnect', () => process.exit())

/** NaN where there is no /proc. */
function readMainMicros() {
  try {
    return (
      Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e3
    )
  } catch {
    return Number.NaN
  }
}

async function startBare() {
  const server = createServer((request, response) => {
    const answer = request.method === 'GET' ? answers.get(request.url) : undefined
    if (answer) response.writeHead(answer.status, answer.headers).end(answer.body)
    else {
      request.resume()
      request.on('end', () => response.writeHead(204).end())
    }
  })
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
  return { url: `http://127.0.0.1:${server.address().port}`, trackingKeys: [], customerIds: [] }
}

async function startShipped() {
  const folder = resolve(dist || fileURLToPath(new URL('../dist', import.meta.url)))
  const { startGateway } = await import(pathToFileURL(`${folder}/gateway.js`).href)
  const { url, customers } = await startGateway({
    dataDir,
    limits: JSON.parse(limits),
    ...(cluster && { cluster: JSON.parse(cluster) }),
  })
  const added = Array.from(
    { length: CUSTOMERS },
    () => customers.add({ origins: ['https://shop.example', 'loopback'] }).customer,
  )
  return {
    url,
    trackingKeys: added.map(({ trackingKey }) => trackingKey),
    customerIds: added.map(({ customerId }) => customerId),
  }
}
