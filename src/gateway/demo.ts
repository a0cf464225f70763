import { isLoopbackAddress } from './http/address.ts'
import { isLoopbackHost } from './http/origins.ts'

/**
 * Why this gateway can not serve the demo, and what to do. Undefined if it can. The demo needs no sign-in, and behind a
 * proxy every request looks local. So it is served only at a loopback address, without a proxy and a public address.
 */
export function findDemoBlock(options: {
  readonly host: string
  readonly trustedProxies: readonly string[]
  readonly publicUrl: string | undefined
}): string | undefined {
  const { host, trustedProxies, publicUrl } = options
  // No other name: DNS may resolve x.localhost to any address.
  if (!isLoopbackAddress(host) && host.toLowerCase() !== 'localhost')
    return blockOf('HOST', `HOST ${host} is not an address of this machine alone`)
  if (trustedProxies.length > 0) return blockOf('TRUSTED_PROXIES', 'TRUSTED_PROXIES is set')
  if (publicUrl && !isLoopbackHost(new URL(publicUrl).hostname))
    return blockOf('PUBLIC_URL', `PUBLIC_URL ${publicUrl} is not an address of this machine alone`)
  return undefined
}

const blockOf = (setting: string, reason: string): string =>
  `its pages ask nobody to sign in, and ${reason}. Leave ${setting} out to have it`
