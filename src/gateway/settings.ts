import proxyAddr from 'proxy-addr'
import {
  check,
  forward,
  object,
  optional,
  picklist,
  pipe,
  regex,
  safeParse,
  string,
  transform,
} from 'valibot'
import { DEFAULT_LIMITS, type Limits, MAX_LIMIT } from './http/limits.ts'
import type { LiveLimits } from './operators/live.ts'

const whole = (from: number, to: number) =>
  pipe(
    string(),
    check(
      (text) => /^\d{1,15}$/.test(text) && Number(text) >= from && Number(text) <= to,
      `Expected a whole number from ${from} to ${to}`,
    ),
    transform(Number),
  )
const port = pipe(
  string(),
  check((text) => /^\d{1,5}$/.test(text) && Number(text) <= 65_535, 'Expected a port, 0 to 65535'),
  transform(Number),
)

/** A limit from 1. The largest means no limit in practice. */
const limitOf = (defaultLimit: number) => optional(whole(1, MAX_LIMIT), `${defaultLimit}`)
const { customer, address, daily } = DEFAULT_LIMITS

/** The environment variables of the gateway. An empty variable counts as absent. */
const variables = object({
  /** Port to listen on, 0 to 65,535. 0 is any free port. Default 8787. */
  PORT: optional(port, '8787'),
  /** Address to listen on. 0.0.0.0 and :: are every interface. Default 127.0.0.1, this machine only. */
  HOST: optional(string(), '127.0.0.1'),
  /** Folder of the databases. Default ./data. */
  DATA_DIR: optional(string(), './data'),
  /**
   * The gateway's public address, such as https://t.shop.example. Default none: the script takes the address from its
   * tag, and scripts that are inlined or evaluated do not start. Normalized as browsers do it, since the page compares
   * addresses as text.
   */
  PUBLIC_URL: optional(
    pipe(
      string(),
      check((text) => {
        try {
          const { protocol, search, hash, username, password } = new URL(text)
          return /^https?:$/.test(protocol) && !search && !hash && !username && !password
        } catch {
          return false
        }
      }, 'Expected an http or https address, without user and password'),
      transform((text) => {
        const { origin, pathname } = new URL(text)
        return origin + pathname.replace(/\/+$/, '')
      }),
    ),
  ),
  /** Addresses and networks of the proxies in front, `10.0.0.2, 10.1.0.0/16`. Default none. */
  TRUSTED_PROXIES: optional(
    pipe(
      string(),
      transform((text) =>
        text
          .split(',')
          .map((item) => item.trim())
          .filter(Boolean),
      ),
      check((list) => {
        try {
          return list.length === 0 || !!proxyAddr.compile(list)
        } catch {
          return false
        }
      }, 'Expected addresses or networks, separated by commas'),
    ),
    '',
  ),
  /**
   * Limits of a customer, once for its pages together and once for its servers with the REST key: events a second and
   * bytes of bodies a second, each with a burst after a pause. A batch counts as its events, a REST call as one event.
   * Above a limit 429 with Retry-After. Defaults 2,000 with a burst of 10,000, and 4 MiB with a burst of 32 MiB.
   */
  CUSTOMER_EVENTS_PER_SECOND: limitOf(customer.events.perSecond),
  CUSTOMER_EVENTS_BURST: limitOf(customer.events.burst),
  CUSTOMER_BYTES_PER_SECOND: limitOf(customer.bytes.perSecond),
  CUSTOMER_BYTES_BURST: limitOf(customer.bytes.burst),
  /**
   * The same for each address (IPv6: each /64) that sends without a REST key. Scripts that an address loads are counted
   * separately, with the same limits. Defaults 500 with a burst of 2,500, and 1 MiB with a burst of 16 MiB.
   */
  ADDRESS_EVENTS_PER_SECOND: limitOf(address.events.perSecond),
  ADDRESS_EVENTS_BURST: limitOf(address.events.burst),
  ADDRESS_BYTES_PER_SECOND: limitOf(address.bytes.perSecond),
  ADDRESS_BYTES_BURST: limitOf(address.bytes.burst),
  /**
   * How much a customer without a quota of its own may store in a day (UTC): events, and bytes of their payloads. The
   * request that reaches the quota is still stored; then 429 until the day ends. Defaults 10,000,000 and 20 GiB.
   */
  DAILY_EVENTS: limitOf(daily.events),
  DAILY_BYTES: limitOf(daily.bytes),
  /**
   * Port of 127.0.0.1 for GET /metrics, 0 to 65,535, other than PORT. 0 is any free port. Default none: no port is
   * opened.
   */
  METRICS_PORT: optional(port),
  /**
   * Secret of GET /metrics on PORT, 16 to 512 characters of ASCII without white space: `Authorization: Bearer …`, 401
   * without it. Default none: /metrics is 404 there.
   */
  METRICS_TOKEN: optional(
    pipe(
      string(),
      regex(/^[!-~]{16,512}$/, 'Expected 16 to 512 characters of ASCII without white space'),
    ),
  ),
  /**
   * Whether to create the demo customer and serve the demo shop, its live view and its campaigns without a sign-in. Has
   * an effect only if HOST is a loopback address, TRUSTED_PROXIES is empty, and PUBLIC_URL is absent or names a
   * loopback host. Default off.
   */
  DEMO: optional(
    pipe(
      picklist(['on', 'off', 'true', 'false', '1', '0'], 'Expected on or off'),
      transform((word) => ['on', 'true', '1'].includes(word)),
    ),
    'off',
  ),
  /**
   * Connections that are open at once, 16 to 1,000,000. Above it an idle one is closed for a new one. If none is idle,
   * a slow one is closed. If none is slow, the new one is closed. Default 2,048, or fewer if the process may not open
   * that many files.
   */
  MAX_CONNECTIONS: optional(whole(16, 1_000_000)),
  /**
   * Memory of all bodies and large answers above 16 KiB together, bytes, 8 MiB to 1 TiB. One address gets a quarter of
   * it. Above it 503 with Retry-After. Default 32 MiB.
   */
  BODY_BUDGET_BYTES: optional(whole(8 * 2 ** 20, 2 ** 40)),
  /**
   * A connection is closed if its other end takes nothing of an answer for this long, ms, 1,000 to 3,600,000. Default
   * 30,000.
   */
  SEND_TIMEOUT_MS: optional(whole(1_000, 3_600_000)),
  /** Live views that are open at once, 1 to 10,000, all customers together. Above it 503. Default 100. */
  MAX_LIVE_VIEWS: optional(whole(1, 10_000)),
  /** The same of one customer. Above it 429. Default 10. */
  MAX_LIVE_VIEWS_PER_CUSTOMER: optional(whole(1, 10_000)),
  /** The lowest level that is logged. Default info. */
  LOG_LEVEL: optional(
    picklist(
      ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
      'Expected fatal, error, warn, info, debug, trace or silent',
    ),
    'info',
  ),
})

const schema = pipe(
  variables,
  forward(
    check(
      ({ PORT, METRICS_PORT }) => !PORT || PORT !== METRICS_PORT,
      'Expected a port other than PORT',
    ),
    ['METRICS_PORT'],
  ),
)

/** The settings of the gateway. */
export type Settings = {
  readonly port: number
  readonly host: string
  readonly dataDir: string
  readonly publicUrl: string | undefined
  readonly trustedProxies: readonly string[]
  readonly limits: Limits
  readonly metricsPort: number | undefined
  readonly metricsToken: string | undefined
  readonly demo: boolean
  readonly maxConnections: number | undefined
  readonly bodyBudgetBytes: number | undefined
  readonly sendTimeoutMs: number | undefined
  readonly live: LiveLimits
  readonly logLevel: string
}

/** All faults of the environment, one a line. */
export type SettingsFault = { readonly ok: false; readonly message: string }

/** @param env Such as process.env. */
export function readSettings(
  env: Readonly<Record<string, string | undefined>>,
): { readonly ok: true; readonly settings: Settings } | SettingsFault {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value?.trim()))
  const { success, output, issues } = safeParse(schema, given)
  if (!success) {
    const lines = issues.map(({ path, message }) => `  ${path?.[0]?.key}: ${message}`)
    return { ok: false, message: `The settings are invalid:\n${lines.join('\n')}` }
  }
  return {
    ok: true,
    settings: {
      port: output.PORT,
      host: output.HOST,
      dataDir: output.DATA_DIR,
      publicUrl: output.PUBLIC_URL,
      trustedProxies: output.TRUSTED_PROXIES,
      limits: {
        customer: {
          events: {
            perSecond: output.CUSTOMER_EVENTS_PER_SECOND,
            burst: output.CUSTOMER_EVENTS_BURST,
          },
          bytes: {
            perSecond: output.CUSTOMER_BYTES_PER_SECOND,
            burst: output.CUSTOMER_BYTES_BURST,
          },
        },
        address: {
          events: {
            perSecond: output.ADDRESS_EVENTS_PER_SECOND,
            burst: output.ADDRESS_EVENTS_BURST,
          },
          bytes: { perSecond: output.ADDRESS_BYTES_PER_SECOND, burst: output.ADDRESS_BYTES_BURST },
        },
        daily: { events: output.DAILY_EVENTS, bytes: output.DAILY_BYTES },
      },
      metricsPort: output.METRICS_PORT,
      metricsToken: output.METRICS_TOKEN,
      demo: output.DEMO,
      maxConnections: output.MAX_CONNECTIONS,
      bodyBudgetBytes: output.BODY_BUDGET_BYTES,
      sendTimeoutMs: output.SEND_TIMEOUT_MS,
      live: {
        maxViews: output.MAX_LIVE_VIEWS,
        maxViewsOfCustomer: output.MAX_LIVE_VIEWS_PER_CUSTOMER,
      },
      logLevel: output.LOG_LEVEL,
    },
  }
}
