import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A proxy that forwards paths to gateways, like nginx with one `location` for each. */
export type PrefixProxy = {
  /** Its address, without a slash at its end. */
  readonly url: string
  /**
   * Forwards a path such as `/st/` to a gateway. The path is removed (`proxy_pass http://gateway/;`) or kept
   * (`proxy_pass http://gateway;`).
   */
  forward(path: string, gateway: string, how: 'removed' | 'kept'): void
  close(): Promise<void>
}

export async function startPrefixProxy(): Promise<PrefixProxy> {
  const targets = new Map<string, { readonly gateway: string; readonly isRemoved: boolean }>()
  const server = createServer((incoming, outgoing) => {
    const { method, headers, url = '' } = incoming
    const [path, target] = [...targets].find(([start]) => url.startsWith(start)) ?? []
    if (!path || !target) {
      outgoing.writeHead(404).end('not forwarded')
      return
    }
    const address = target.gateway + (target.isRemoved ? url.slice(path.length - 1) : url)
    const forwarded = request(address, { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    forwarded.on('error', () => outgoing.destroy())
    outgoing.on('close', () => forwarded.destroy())
    incoming.pipe(forwarded)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    forward: (path, gateway, how) => targets.set(path, { gateway, isRemoved: how === 'removed' }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
