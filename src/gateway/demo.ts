import { isLoopbackAddress } from './http/address.ts'
import { isLoopbackHost } from './http/origins.ts'

/**
 * Why the demo can not be open on this gateway, and what to do; undefined where it can. Its pages ask nobody to
 * sign in, and behind a proxy every request looks local: so it needs a loopback address, no proxy, and no public
 * address.
 */
export function findDemoBlock(options: {
  readonly host: string
  readonly trustedProxies: readonly string[]
  readonly publicUrl: string | undefined
}): string | undefined {
  const { host, trustedProxies, publicUrl } = options
  // Of the names only this one: DNS may answer anything for x.localhost.
  if (!isLoopbackAddress(host) && host.toLowerCase() !== 'localhost')
    return blockOf('HOST', `HOST ${host} is not an address of this machine alone`)
  if (trustedProxies.length > 0) return blockOf('TRUSTED_PROXIES', 'TRUSTED_PROXIES is set')
  if (publicUrl && !isLoopbackHost(new URL(publicUrl).hostname))
    return blockOf('PUBLIC_URL', `PUBLIC_URL ${publicUrl} is not an address of this machine alone`)
  return undefined
}

const blockOf = (setting: string, reason: string): string =>
  `its pages ask nobody to sign in, and ${reason}. Leave ${setting} out to have it`
