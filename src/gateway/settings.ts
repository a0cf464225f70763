import proxyAddr from 'proxy-addr'
import { check, pipe, regex, string, transform } from 'valibot'
import { DEFAULT_BODY_BUDGET_BYTES } from './http/bodyBudget.ts'
import { DEFAULT_MAX_CONNECTIONS } from './http/descriptors.ts'
import {
  DEFAULT_LIMITS,
  DEFAULT_MAX_HEADER_BYTES,
  DEFAULT_SEND_TIMEOUT_MS,
  MAX_LIMIT,
} from './http/limits.ts'
import {
  DEFAULT_DUPLICATE_WINDOW_MS,
  DEFAULT_PARTITIONS,
  DEFAULT_REPLICAS,
  MAX_PARTITIONS,
  MAX_REPLICAS,
  MIN_DUPLICATE_WINDOW_MS,
  type NatsOptions,
} from './nats/natsOptions.ts'
import { DEFAULT_LIVE_LIMITS } from './operators/live.ts'
import { oneOf, onOff, port, type SettingsTable, type ValuesOf, whole } from './settings/kinds.ts'
import {
  type EffectiveSetting,
  type Env,
  type GivenSettings,
  type Rule,
  readValues,
  type SettingsFault,
} from './settings/readValues.ts'
import { DEFAULT_RESERVE_BYTES } from './sqlite/disk.ts'

export type { SettingsFault } from './settings/readValues.ts'

const { customer, address, daily } = DEFAULT_LIMITS

/** Time for a balancer that asks /readyz every second or two, ms. */
const DEFAULT_DRAIN_MS = 5_000
const DEFAULT_STOP_TIMEOUT_MS = 15_000

/** A limit from 1. The largest means no limit in practice. */
const limit = whole(1, MAX_LIMIT)

/** Normalized as browsers do it, since the page compares addresses as text. */
const publicAddress = pipe(
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
)

const networks = pipe(
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
)

/** `sqlite`, or the servers of a cluster. */
const engine = pipe(
  string(),
  check((text) => {
    const [, scheme, hosts = ''] = /^(?:(nats|tls):\/\/)(.+)$/.exec(text) ?? []
    return text === 'sqlite' || (scheme !== undefined && hosts.split(',').every(isHostAndPort))
  }, 'Expected sqlite, or nats://host:port,host:port (tls:// for TLS), without user and password'),
)

const isHostAndPort = (text: string): boolean =>
  /^(\[[\da-f:.]+\]|[\w.-]+)(:\d{1,5})?$/i.test(text.trim())

const secret = pipe(
  string(),
  regex(/^[!-~]{16,512}$/, 'Expected 16 to 512 characters of ASCII without white space'),
)

/**
 * The settings of the gateway: the schema, the help of the command line and the rows of docs/gateway.md in one place (a
 * test compares them).
 */
export const SETTINGS = {
  PORT: { type: port, default: '8787', doc: 'Port to listen on. 0 is any free port' },
  HOST: {
    type: string(),
    default: '127.0.0.1',
    doc: 'Address to listen on. 0.0.0.0 and :: are every interface',
  },
  DATA_DIR: { type: string(), default: './data', doc: 'Folder of the databases' },
  ENGINE: {
    type: engine,
    default: 'sqlite',
    doc: 'Where events, customers and campaigns are kept: sqlite, in DATA_DIR, or nats://a:4222,b:4222,c:4222 (tls:// for TLS), a cluster of NATS with JetStream (docs/scale.md)',
  },
  FOLLOW: {
    type: onOff,
    default: 'on',
    doc: 'With a cluster: whether this process also follows the log, for reports, forwarding, persons and retention. Needs room in DATA_DIR',
  },
  NATS_CREDENTIALS: { type: string(), doc: 'Path of a credentials file (.creds) of the cluster' },
  NATS_USER: { type: string(), doc: 'User of the cluster' },
  NATS_PASSWORD: { type: string(), isSecret: true, doc: 'Password of the user' },
  NATS_TOKEN: { type: string(), isSecret: true, doc: 'Token, for clusters that have one' },
  NATS_CA: { type: string(), doc: "Path of the certificates that have signed the cluster's (PEM)" },
  NATS_CERT: { type: string(), doc: 'Path of the certificate of this client (PEM)' },
  NATS_KEY: { type: string(), doc: 'Path of its private key (PEM)' },
  NATS_REPLICAS: {
    type: whole(1, MAX_REPLICAS),
    default: `${DEFAULT_REPLICAS}`,
    doc: 'Nodes that keep each event, 1 to 5, when streams are created. 3 bear the loss of one node',
  },
  NATS_PARTITIONS: {
    type: whole(1, MAX_PARTITIONS),
    otherwise: `${DEFAULT_PARTITIONS}`,
    doc: 'Streams that customers are spread over, 1 to 64, when they are created. Fixed from then on: without it their number is taken',
  },
  NATS_DUPLICATE_WINDOW_MS: {
    type: whole(MIN_DUPLICATE_WINDOW_MS, 86_400_000),
    default: `${DEFAULT_DUPLICATE_WINDOW_MS}`,
    doc: 'How long the cluster remembers the id of an event, 30,000 to 86,400,000 ms. Later repetitions are stored again, and each reader counts them once',
  },
  NATS_MAX_AGE_DAYS: {
    type: whole(1, 3_650),
    doc: 'How long the streams keep events, 1 to 3,650 days. Without it as long as the retention of each customer',
  },
  NATS_MAX_BYTES: {
    type: whole(2 ** 20, 2 ** 50),
    doc: 'Most bytes of one stream, 1 MiB to 1 PiB. Above it 503. Without it as much as the disks have',
  },
  UPGRADE_BACKUP: {
    type: onOff,
    default: 'on',
    doc: 'Whether databases of an earlier version are backed up before they are upgraded',
  },
  DISK_RESERVE_BYTES: {
    type: whole(0, 2 ** 40),
    default: `${DEFAULT_RESERVE_BYTES}`,
    doc: 'Free space on the disk of DATA_DIR that events do not use, at most a tenth of the disk. Below it 503; below four times as much a warning. 0 to 1 TiB',
  },
  PUBLIC_URL: {
    type: publicAddress,
    doc: "The gateway's public address, such as https://t.shop.example. Scripts that are inlined or evaluated need it",
  },
  TRUSTED_PROXIES: {
    type: networks,
    default: '',
    doc: 'Addresses and networks of the proxies in front, whose X-Forwarded-For is trusted: 10.0.0.2, 10.1.0.0/16',
  },
  METRICS_PORT: {
    type: port,
    doc: 'Port of 127.0.0.1 that answers GET /metrics, other than PORT. 0 is any free port. Without it no port is opened',
  },
  METRICS_TOKEN: {
    type: secret,
    isSecret: true,
    doc: 'Secret of 16 to 512 characters. With it PORT answers GET /metrics too (Authorization: Bearer …)',
  },
  DEMO: {
    type: onOff,
    default: 'off',
    doc: 'on: the demo customer and the demo shop, without a sign-in. Needs a loopback HOST, no TRUSTED_PROXIES, and a PUBLIC_URL that is absent or loopback',
  },
  LOG_LEVEL: {
    type: oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
    default: 'info',
    doc: 'The lowest level that is logged: fatal, error, warn, info, debug, trace or silent',
  },
  LOG_REQUESTS: {
    type: onOff,
    default: 'off',
    doc: 'on: a line for each request, with method, path, status, ms and bytes, without query and address',
  },
  MAX_CONNECTIONS: {
    type: whole(16, 1_000_000),
    otherwise: `${DEFAULT_MAX_CONNECTIONS}`,
    doc: 'Connections that are open at once, 16 to 1,000,000. By default fewer if the process may not open that many files',
  },
  MAX_HEADER_BYTES: {
    type: whole(8_192, 2 ** 20),
    default: `${DEFAULT_MAX_HEADER_BYTES}`,
    doc: "Bytes of a request's line and headers, 8 KiB to 1 MiB. Above it 431. A proxy in front has a limit of its own",
  },
  BODY_BUDGET_BYTES: {
    type: whole(8 * 2 ** 20, 2 ** 40),
    default: `${DEFAULT_BODY_BUDGET_BYTES}`,
    doc: 'Memory of all requests above 16 KiB and large answers together, 8 MiB to 1 TiB. Above it 503',
  },
  SEND_TIMEOUT_MS: {
    type: whole(1_000, 3_600_000),
    default: `${DEFAULT_SEND_TIMEOUT_MS}`,
    doc: 'A connection is closed if its other end takes nothing of an answer for this long, 1,000 to 3,600,000 ms',
  },
  DRAIN_MS: {
    type: whole(0, 600_000),
    otherwise: `${DEFAULT_DRAIN_MS}`,
    doc: 'How long it is unready and still answers after SIGTERM, 0 to 600,000 ms. By default 0 with DEMO',
  },
  STOP_TIMEOUT_MS: {
    type: whole(1_000, 3_600_000),
    default: `${DEFAULT_STOP_TIMEOUT_MS}`,
    doc: 'Time from a signal to the end, 1,000 to 3,600,000 ms, longer than DRAIN_MS. Then the process is killed',
  },
  MAX_LIVE_VIEWS: {
    type: whole(1, 10_000),
    default: `${DEFAULT_LIVE_LIMITS.maxViews}`,
    doc: 'Live views that are open at once, 1 to 10,000. Above it 503',
  },
  MAX_LIVE_VIEWS_PER_CUSTOMER: {
    type: whole(1, 10_000),
    default: `${DEFAULT_LIVE_LIMITS.maxViewsOfCustomer}`,
    doc: 'The same of one customer. Above it 429',
  },
  ADDRESS_EVENTS_PER_SECOND: {
    type: limit,
    default: `${address.events.perSecond}`,
    doc: 'Events a second of an address that sends without a REST key. Above it 429, and pages send the rest later',
  },
  ADDRESS_EVENTS_BURST: {
    type: limit,
    default: `${address.events.burst}`,
    doc: 'Events at once after a pause',
  },
  ADDRESS_BYTES_PER_SECOND: {
    type: limit,
    default: `${address.bytes.perSecond}`,
    doc: 'Bytes of these events a second',
  },
  ADDRESS_BYTES_BURST: {
    type: limit,
    default: `${address.bytes.burst}`,
    doc: 'Bytes of them at once after a pause',
  },
  CUSTOMER_EVENTS_PER_SECOND: {
    type: limit,
    default: `${customer.events.perSecond}`,
    doc: "Events a second of a customer's pages together, and the same again of its servers. Above it 429",
  },
  CUSTOMER_EVENTS_BURST: {
    type: limit,
    default: `${customer.events.burst}`,
    doc: 'Events at once after a pause',
  },
  CUSTOMER_BYTES_PER_SECOND: {
    type: limit,
    default: `${customer.bytes.perSecond}`,
    doc: 'Bytes of these events a second',
  },
  CUSTOMER_BYTES_BURST: {
    type: limit,
    default: `${customer.bytes.burst}`,
    doc: 'Bytes of them at once after a pause',
  },
  DAILY_EVENTS: {
    type: limit,
    default: `${daily.events}`,
    doc: 'Events that the pages of a customer without a quota of its own may store in a day (UTC), and the same again its servers. Above it 429 until the day ends',
  },
  DAILY_BYTES: {
    type: limit,
    default: `${daily.bytes}`,
    doc: 'Bytes of their payloads',
  },
} as const satisfies SettingsTable

/** The cluster, if the engine is one. */
function clusterOf(values: ValuesOf<typeof SETTINGS>): NatsOptions | undefined {
  if (values.ENGINE === 'sqlite') return undefined
  const [scheme, hosts = ''] = values.ENGINE.split('://')
  const days = values.NATS_MAX_AGE_DAYS
  return {
    servers: hosts.split(',').map((host) => host.trim()),
    isTls: scheme === 'tls',
    credentialsFile: values.NATS_CREDENTIALS,
    user: values.NATS_USER,
    password: values.NATS_PASSWORD,
    token: values.NATS_TOKEN,
    caFile: values.NATS_CA,
    certFile: values.NATS_CERT,
    keyFile: values.NATS_KEY,
    replicas: values.NATS_REPLICAS,
    partitions: values.NATS_PARTITIONS,
    duplicateWindowMs: values.NATS_DUPLICATE_WINDOW_MS,
    maxAgeMs: days === undefined ? undefined : days * 86_400_000,
    maxBytes: values.NATS_MAX_BYTES,
    follow: values.FOLLOW,
  }
}

/** Nobody waits for a balancer with the demo. */
const drainOf = ({ DRAIN_MS, DEMO }: ValuesOf<typeof SETTINGS>): number =>
  DRAIN_MS ?? (DEMO ? 0 : DEFAULT_DRAIN_MS)

const RULES: readonly Rule<typeof SETTINGS>[] = [
  {
    names: ['STOP_TIMEOUT_MS', 'DRAIN_MS', 'DEMO'],
    message: `Expected more than DRAIN_MS, which is ${DEFAULT_DRAIN_MS} by default`,
    holds: (values) => values.STOP_TIMEOUT_MS > drainOf(values),
  },
  {
    names: ['METRICS_PORT', 'PORT'],
    message: 'Expected a port other than PORT',
    holds: ({ PORT, METRICS_PORT }) => !PORT || PORT !== METRICS_PORT,
  },
]

/** The settings of the gateway. */
export type Settings = ReturnType<typeof arrange>

/** Names the values as the options of a gateway do. */
const arrange = (values: ValuesOf<typeof SETTINGS>) => ({
  port: values.PORT,
  host: values.HOST,
  dataDir: values.DATA_DIR,
  cluster: clusterOf(values),
  upgradeBackup: values.UPGRADE_BACKUP,
  diskReserveBytes: values.DISK_RESERVE_BYTES,
  publicUrl: values.PUBLIC_URL,
  trustedProxies: values.TRUSTED_PROXIES,
  metricsPort: values.METRICS_PORT,
  metricsToken: values.METRICS_TOKEN,
  demo: values.DEMO,
  logLevel: values.LOG_LEVEL,
  logRequests: values.LOG_REQUESTS,
  maxConnections: values.MAX_CONNECTIONS,
  maxHeaderBytes: values.MAX_HEADER_BYTES,
  bodyBudgetBytes: values.BODY_BUDGET_BYTES,
  sendTimeoutMs: values.SEND_TIMEOUT_MS,
  drainMs: drainOf(values),
  stopTimeoutMs: values.STOP_TIMEOUT_MS,
  live: {
    maxViews: values.MAX_LIVE_VIEWS,
    maxViewsOfCustomer: values.MAX_LIVE_VIEWS_PER_CUSTOMER,
  },
  limits: {
    customer: {
      events: {
        perSecond: values.CUSTOMER_EVENTS_PER_SECOND,
        burst: values.CUSTOMER_EVENTS_BURST,
      },
      bytes: { perSecond: values.CUSTOMER_BYTES_PER_SECOND, burst: values.CUSTOMER_BYTES_BURST },
    },
    address: {
      events: { perSecond: values.ADDRESS_EVENTS_PER_SECOND, burst: values.ADDRESS_EVENTS_BURST },
      bytes: { perSecond: values.ADDRESS_BYTES_PER_SECOND, burst: values.ADDRESS_BYTES_BURST },
    },
    daily: { events: values.DAILY_EVENTS, bytes: values.DAILY_BYTES },
  },
})

/**
 * Reads the settings of the gateway, see readValues.ts.
 *
 * @param env Such as process.env.
 */
export function readSettings(
  env: Env,
  given: GivenSettings = {},
):
  | {
      readonly ok: true
      readonly settings: Settings
      readonly effective: readonly EffectiveSetting[]
      readonly warnings: readonly string[]
    }
  | SettingsFault {
  const read = readValues(SETTINGS, RULES, env, given)
  if (!read.ok) return read
  const { values, effective, warnings } = read
  return { ok: true, settings: arrange(values), effective, warnings }
}
