import type { Server } from 'node:http'

/** First segments of the gateway's own paths. */
const OWN = /^\/(t|api|live|livez|readyz|metrics|campaigns|people|setup|forward|shop)(\/|$)/

/**
 * Removes the path of PUBLIC_URL from the addresses of requests, if the proxy in front has not removed it.
 *
 * Has no effect if `publicUrl` has no path, or one that begins like a path of the gateway, such as `/t`: the proxy has
 * to remove that, since `/t/r` could mean two paths.
 *
 * @param publicUrl The gateway's public address, such as `https://shop.example/st`.
 */
export function removePathPrefix(server: Server, publicUrl: string | undefined): void {
  const prefix = publicUrl ? new URL(publicUrl).pathname.replace(/\/$/, '') : ''
  if (prefix === '' || OWN.test(prefix)) return
  // Before the listener that answers.
  server.prependListener('request', (request) => {
    if (request.url?.startsWith(`${prefix}/`)) request.url = request.url.slice(prefix.length)
  })
}
