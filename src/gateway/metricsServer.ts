import { createServer, type Server } from 'node:http'
import { JSON_HEADERS, refuse } from './answers.ts'
import { hashSecret, isSecret } from './keys.ts'
import type { Metrics } from './metrics.ts'

/** The fewest characters of METRICS_TOKEN. */
export const MIN_METRICS_TOKEN_LENGTH = 16

/**
 * GET /metrics on a port of its own, bound to this machine's loopback address: rates and volumes are the
 * operator's business, and a request from a proxy on the same machine looks like one from the machine
 * itself.
 *
 * @param port 0 is any that is free.
 * @throws Error when the port is taken (`code` is EADDRINUSE).
 */
export async function startMetricsServer(metrics: Metrics, port: number): Promise<Server> {
  const server = createServer(
    { requestTimeout: 5_000, headersTimeout: 5_000 },
    (request, answer) => {
      const isMetrics = /^\/metrics\/?(\?|$)/.test(request.url ?? '')
      const isRead = request.method === 'GET' || request.method === 'HEAD'
      if (isMetrics && isRead) {
        metrics.render().then(
          ({ text, type }) => {
            answer.writeHead(200, { 'content-type': type, 'cache-control': 'no-store' })
            answer.end(request.method === 'HEAD' ? undefined : text)
          },
          () => tell(500, 'The metrics can not be read'),
        )
        return
      }
      if (isMetrics) answer.setHeader('allow', 'GET, HEAD')
      if (isMetrics) tell(405, 'Expected one of GET, HEAD')
      else tell(404, 'This port answers GET /metrics only')

      function tell(status: number, message: string): void {
        answer.writeHead(status, JSON_HEADERS)
        answer.end(JSON.stringify({ message }))
      }
    },
  )
  server.maxConnections = 20
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  return server
}

/**
 * GET /metrics on the public port, for who has METRICS_TOKEN: `Authorization: Bearer …` (RFC 6750), compared in
 * constant time.
 */
export function createShowMetrics(metrics: Metrics, metricsToken: string) {
  const hash = hashSecret(metricsToken)
  return async ({ headers }: Request): Promise<Response> => {
    const given = /^Bearer +(\S+)\s*$/i.exec(headers.get('authorization') ?? '')?.[1]
    if (given === undefined || !isSecret(given, hash))
      return refuse(
        { status: 401, message: 'Expected the METRICS_TOKEN: Authorization: Bearer …' },
        { ...JSON_HEADERS, 'www-authenticate': 'Bearer' },
      )
    const { text, type } = await metrics.render()
    return new Response(text, { headers: { 'content-type': type, 'cache-control': 'no-store' } })
  }
}
