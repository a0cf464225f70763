import { hashSecret, isSecret } from '../lib/secret.ts'
import { JSON_HEADERS, refuse } from './answers.ts'
import type { Metrics } from './metrics.ts'
import { isLoopbackHost } from './origins.ts'

/** Address of METRICS_PORT: rates and volumes are not public. */
export const METRICS_HOST = '127.0.0.1'
/** Connections of METRICS_PORT at once: those of a few monitoring servers. */
export const MAX_METRICS_CONNECTIONS = 20

/**
 * The handler of METRICS_PORT: GET /metrics. The Host must be this machine, so that a web page whose name was made to
 * resolve to it (DNS rebinding) can not read the metrics.
 *
 * @param onError Called with unexpected errors.
 */
export function createMetricsPort(
  metrics: Metrics,
  onError: (error: unknown, route: string) => void,
) {
  return async ({ url, method }: Request): Promise<Response> => {
    const { hostname, pathname } = new URL(url)
    if (!isLoopbackHost(hostname))
      return refuse({ status: 403, message: 'Expected a Host of this machine, such as localhost' })
    if (pathname !== '/metrics')
      return refuse({ status: 404, message: 'This port answers GET /metrics only' })
    if (method !== 'GET' && method !== 'HEAD')
      return refuse(
        { status: 405, message: 'Expected one of GET, HEAD' },
        { ...JSON_HEADERS, allow: 'GET, HEAD' },
      )
    try {
      return await show(metrics)
    } catch (error) {
      onError(error, '/metrics')
      return refuse({ status: 500, message: 'Something went wrong here' })
    }
  }
}

/**
 * GET /metrics on PORT, for callers with METRICS_TOKEN: `Authorization: Bearer …` (RFC 6750), compared in constant
 * time.
 */
export function createShowMetrics(metrics: Metrics, metricsToken: string) {
  const hash = hashSecret(metricsToken)
  return async ({ headers }: Request): Promise<Response> => {
    const given = /^Bearer +(\S+)$/i.exec(headers.get('authorization') ?? '')?.[1]
    if (given === undefined || !isSecret(given, hash))
      return refuse(
        { status: 401, message: 'Expected the METRICS_TOKEN: Authorization: Bearer …' },
        { ...JSON_HEADERS, 'www-authenticate': 'Bearer' },
      )
    return show(metrics)
  }
}

async function show(metrics: Metrics): Promise<Response> {
  const { text, type } = await metrics.render()
  return new Response(text, { headers: { 'content-type': type, 'cache-control': 'no-store' } })
}
