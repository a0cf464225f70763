// A server in its own process that reports its CPU time and memory:
//
//   node e2e/benchServer.mjs bare                      reads a body, discards it, answers 204
//   node e2e/benchServer.mjs gateway FOLDER [LIMITS]   the built gateway; LIMITS as JSON
//
// It sends {url, trackingKeys} (of two customers) when it listens, and answers any message with {cpuMicros, rss}: CPU
// time of all its threads so far, and resident memory, bytes. Not in TypeScript, since its loader would be measured
// too.
import { createServer } from 'node:http'
import { startGateway } from '../dist/gateway.js'

const [, , kind, dataDir, limits = '{}'] = process.argv
process.send(kind === 'bare' ? await startBare() : await startShipped())

process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send({ cpuMicros: user + system, rss: process.memoryUsage.rss() })
})
process.on('disconnect', () => process.exit())

async function startBare() {
  const server = createServer((request, response) => {
    request.resume()
    request.on('end', () => response.writeHead(204).end())
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${server.address().port}`, trackingKeys: [] }
}

async function startShipped() {
  const { url, customers } = await startGateway({ dataDir, limits: JSON.parse(limits) })
  const add = () => customers.add({ origins: ['loopback'] }).customer.trackingKey
  return { url, trackingKeys: [add(), add()] }
}
