import { isLoopbackAddress } from './http/address.ts'
import { isLoopbackHost } from './http/origins.ts'

/**
 * Why this gateway can not serve the demo, and the remedy. Undefined if it can. The demo needs no sign-in, and behind a
 * proxy every request looks local. So the demo is served only at a loopback address, without a proxy and without a
 * public address.
 */
export function findDemoBlock(options: {
  readonly host: string
  readonly trustedProxies: readonly string[]
  readonly publicUrl: string | undefined
}): string | undefined {
  const { host, trustedProxies, publicUrl } = options
  // No other name is accepted, since DNS may resolve x.localhost to any address.
  if (!isLoopbackAddress(host) && host.toLowerCase() !== 'localhost')
    return blockOf('HOST', `HOST ${host} can be reached from other machines`)
  if (trustedProxies.length > 0) return blockOf('TRUSTED_PROXIES', 'TRUSTED_PROXIES is set')
  if (publicUrl && !isLoopbackHost(new URL(publicUrl).hostname))
    return blockOf('PUBLIC_URL', `PUBLIC_URL ${publicUrl} can be reached from other machines`)
  return undefined
}

const blockOf = (setting: string, reason: string): string =>
  `The demo is off, because its pages need no sign-in and ${reason}. Unset ${setting} to get the demo`
