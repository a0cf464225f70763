import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** @throws Error if the port is in use (`code` is EADDRINUSE). */
export function listen(server: Server, port: number, host: string): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => resolve(server.address() as AddressInfo))
  })
}

/** The host in an address that a browser on this machine can open. */
export function urlHost({ address, family }: AddressInfo): string {
  if (address === '0.0.0.0' || address === '::') return 'localhost'
  return family === 'IPv6' ? `[${address}]` : address
}
