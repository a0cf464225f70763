import proxyAddr from 'proxy-addr'
import type { Seen } from './answerDoctor.ts'
import type { Asked } from './askDoctor.ts'
import { error, type Found, note, ok, warning } from './finding.ts'

/** A larger difference between two clocks is reported, ms. */
const SKEW_MS = 60_000
const TLS = /CERT|SELF_SIGNED|UNABLE_TO_|ALTNAME|HOSTNAME|SSL|TLS/

/**
 * PUBLIC_URL as browsers see it.
 *
 * @param isRunning Whether a gateway of this folder answers on PORT.
 * @param hasCluster Whether other gateways, with folders of their own, may answer at PUBLIC_URL too.
 */
export function checkPublicUrl(
  publicUrl: string,
  asked: Asked,
  isRunning: boolean,
  hasCluster = false,
): Found[] {
  if (asked.kind === 'gateway') return [ok(`PUBLIC_URL ${publicUrl} is this gateway`)]
  if (asked.kind === 'failed') return [explainFailure(publicUrl, asked)]
  const { status, location, server, message } = asked
  const { origin, pathname } = new URL(publicUrl)
  if (location !== undefined)
    return [
      error(
        `PUBLIC_URL ${publicUrl} redirects to ${withoutQuery(location, publicUrl)}. Browsers do not repeat an event after a redirect`,
        'Set PUBLIC_URL to the address without redirects',
      ),
    ]
  if (!isRunning && status >= 500)
    return [
      note(
        `A proxy answers at PUBLIC_URL ${publicUrl} with ${status}, since no gateway is running`,
        'Start the gateway, and run doctor again',
      ),
    ]
  if (message !== undefined && status === 404 && pathname !== '/')
    return [
      error(
        `A gateway answers at ${origin}, but not below ${pathname}: the proxy does not remove the path`,
        `nginx: location ${pathname}/ { proxy_pass http://127.0.0.1:8787/; } with a slash after the port`,
        `Caddy: handle_path ${pathname}/* { reverse_proxy 127.0.0.1:8787 }`,
      ),
    ]
  if (isOtherGateway(asked) && hasCluster)
    return [
      note(
        `PUBLIC_URL ${publicUrl} is a gateway of another data folder, as it may be on a cluster. The proxy in front was not checked`,
        isRunning
          ? 'The balancer has sent no request of doctor to this gateway. Run it with the settings of each gateway'
          : 'Run doctor with the settings and the DATA_DIR of a gateway, where that one runs',
      ),
    ]
  if (isOtherGateway(asked))
    return [
      error(
        `PUBLIC_URL ${publicUrl} is a gateway of another data folder`,
        'Set DATA_DIR and PUBLIC_URL as the gateway has them',
      ),
    ]
  if (status === 502 || status === 504)
    return [
      error(
        `The proxy at PUBLIC_URL ${publicUrl} does not reach the gateway (${status})`,
        'Let it pass requests to HOST and PORT of the gateway',
      ),
    ]
  return [
    error(
      `PUBLIC_URL ${publicUrl} is not this gateway: something else${server ? ` (${server})` : ''} answers ${message ?? status}`,
      'Let the proxy pass everything below /t/ to the gateway, or correct PUBLIC_URL',
    ),
  ]
}

/** Whether a gateway answers that does not know the secret in the folder. Not that the path is wrong. */
export const isOtherGateway = (asked: Asked): boolean =>
  asked.kind === 'other' && asked.status === 404 && asked.message !== undefined

function explainFailure(
  publicUrl: string,
  { code, message }: Extract<Asked, { readonly kind: 'failed' }>,
): Found {
  const { hostname, protocol } = new URL(publicUrl)
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return error(
      `The name ${hostname} of PUBLIC_URL is not known here (${code})`,
      'Add it to the DNS, or correct PUBLIC_URL',
    )
  if (/WRONG_VERSION_NUMBER/.test(code + message))
    return error(
      `PUBLIC_URL ${publicUrl} does not speak TLS`,
      'Let the proxy terminate TLS on this port, or write http:// if it should not',
    )
  if (TLS.test(code))
    return error(
      `The certificate of PUBLIC_URL ${publicUrl} is not valid: ${message} (${code})`,
      'Renew it, let the proxy send the whole chain, and check that it has the name',
      'If only this machine does not know its issuer: NODE_EXTRA_CA_CERTS=/path/of/issuer.pem',
    )
  const reason =
    code === 'TIMEOUT' || code === 'UND_ERR_CONNECT_TIMEOUT'
      ? 'does not answer in 5 s'
      : code === 'ECONNREFUSED'
        ? 'refuses connections'
        : `does not answer (${code || message})`
  return error(
    `PUBLIC_URL ${publicUrl} ${reason}`,
    `Start the proxy, and open the port of ${protocol}// in the firewall`,
    'Some networks do not let a machine reach its own public address. Then try from another one',
  )
}

/** The headers of the proxy in front, and the clock that it sends. */
export function checkProxy(publicUrl: string, seen: Seen, trusted: readonly string[]): Found[] {
  const { peer, unknownProxy, forwardedFor, visitor, asked } = seen
  if (
    unknownProxy !== null &&
    trusted.length > 0 &&
    proxyAddr.compile([...trusted])(unknownProxy, 0)
  )
    return [
      error(
        `The gateway does not believe the proxy at ${unknownProxy}, though TRUSTED_PROXIES (${trusted.join(', ')}) names it: it was started with other settings. All visitors get the proxy's address, and share the limits of one`,
        'Restart the gateway with these settings',
      ),
    ]
  if (unknownProxy !== null)
    return [
      error(
        `The proxy at ${unknownProxy} sends headers of a proxy that are not believed, since TRUSTED_PROXIES ${trusted.length > 0 ? `(${trusted.join(', ')}) does not name it` : 'is empty'}. All visitors get its address, and share the limits of one`,
        `TRUSTED_PROXIES=${[...trusted, unknownProxy].join(',')}`,
      ),
    ]
  const hasProxy = publicUrl.startsWith('https:') || trusted.length > 0
  if (hasProxy && !forwardedFor)
    return [
      error(
        `The proxy at ${peer} sends no X-Forwarded-For. All visitors get its address, and share the limits of one`,
        'nginx: proxy_set_header X-Forwarded-For $remote_addr;',
      ),
    ]
  if (!hasProxy) return [ok('There is no proxy in front')]
  const origin = new URL(publicUrl).origin
  return [
    ok(`The proxy at ${peer} is believed: this request came from ${visitor}`),
    ...(asked === origin
      ? []
      : [
          warning(
            `The gateway was asked for ${asked}, not for ${origin}. Cookies of first-party mode need the right scheme and host`,
            'nginx: proxy_set_header X-Forwarded-Proto $scheme; proxy_set_header X-Forwarded-Host $host;',
          ),
        ]),
  ]
}

/** The Date of an answer against the clock: a hint, since a proxy may have written it. */
export function checkDate(date: number | undefined, now: number): Found[] {
  const skew = date === undefined ? 0 : now - date
  return Math.abs(skew) <= SKEW_MS
    ? []
    : [
        warning(
          `The clock of this machine is ${Math.round(Math.abs(skew) / 1_000)} s ${skew > 0 ? 'ahead of' : 'behind'} the Date that PUBLIC_URL sends`,
          'Let both machines keep their time by NTP: timedatectl set-ntp true',
        ),
      ]
}

function withoutQuery(location: string, base: string): string {
  const url = URL.canParse(location, base) ? new URL(location, base) : undefined
  return url
    ? url.origin + url.pathname.replace(/\/t\/doctor$/, '')
    : 'an address that is not valid'
}
