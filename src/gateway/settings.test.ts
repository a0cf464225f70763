import { expect, test } from 'vitest'
import { DEFAULT_LIMITS } from './http/limits.ts'
import { readSettings } from './settings.ts'

const DEFAULTS = {
  port: 8787,
  host: '127.0.0.1',
  dataDir: './data',
  upgradeBackup: true,
  diskReserveBytes: 536_870_912,
  publicUrl: undefined,
  trustedProxies: [],
  limits: DEFAULT_LIMITS,
  metricsPort: undefined,
  metricsToken: undefined,
  demo: false,
  maxConnections: undefined,
  maxHeaderBytes: 65_536,
  bodyBudgetBytes: 33_554_432,
  sendTimeoutMs: 30_000,
  drainMs: 5_000,
  stopTimeoutMs: 15_000,
  live: { maxViews: 100, maxViewsOfCustomer: 10 },
  logLevel: 'info',
  logRequests: false,
}

const CLUSTER = {
  servers: ['a:4222', 'b', '[::1]:4222'],
  isTls: false,
  replicas: 3,
  duplicateWindowMs: 600_000,
  follow: true,
}

test.each([
  [{}, {}],
  [{ PORT: '', HOST: ' ', DEMO: '' }, {}],
  [
    { PORT: '0', HOST: '::' },
    { port: 0, host: '::' },
  ],
  [{ DATA_DIR: '/var/lib/shoptrail' }, { dataDir: '/var/lib/shoptrail' }],
  [{ ENGINE: 'sqlite' }, {}],
  [{ ENGINE: 'nats://a:4222, b,[::1]:4222' }, { cluster: CLUSTER }],
  [
    {
      ENGINE: 'tls://a:4222, b,[::1]:4222',
      FOLLOW: 'off',
      NATS_USER: 'shop',
      NATS_PASSWORD: 'secret',
      NATS_REPLICAS: '1',
      NATS_PARTITIONS: '16',
      NATS_MAX_AGE_DAYS: '2',
    },
    {
      cluster: {
        ...CLUSTER,
        isTls: true,
        follow: false,
        user: 'shop',
        password: 'secret',
        replicas: 1,
        partitions: 16,
        maxAgeMs: 172_800_000,
      },
    },
  ],
  [{ PUBLIC_URL: 'https://t.shop.example/' }, { publicUrl: 'https://t.shop.example' }],
  [{ PUBLIC_URL: 'https://shop.example/in/' }, { publicUrl: 'https://shop.example/in' }],
  [{ TRUSTED_PROXIES: '10.0.0.2, fd00::/8,' }, { trustedProxies: ['10.0.0.2', 'fd00::/8'] }],
  [{ METRICS_PORT: '9464' }, { metricsPort: 9464 }],
  [
    { PORT: '0', METRICS_PORT: '0' },
    { port: 0, metricsPort: 0 },
  ],
  [{ METRICS_TOKEN: 'x'.repeat(16) }, { metricsToken: 'x'.repeat(16) }],
  [{ MAX_LIVE_VIEWS: '7' }, { live: { maxViews: 7, maxViewsOfCustomer: 10 } }],
  [{ MAX_LIVE_VIEWS_PER_CUSTOMER: '30' }, { live: { maxViews: 100, maxViewsOfCustomer: 30 } }],
  [{ DEMO: '1' }, { demo: true, drainMs: 0 }],
  [
    { DEMO: '1', DRAIN_MS: '2000' },
    { demo: true, drainMs: 2_000 },
  ],
  [
    { DEMO: '1', STOP_TIMEOUT_MS: '3000' },
    { demo: true, drainMs: 0, stopTimeoutMs: 3_000 },
  ],
  [{ DRAIN_MS: '0' }, { drainMs: 0 }],
  [
    { DRAIN_MS: '30000', STOP_TIMEOUT_MS: '60000' },
    { drainMs: 30_000, stopTimeoutMs: 60_000 },
  ],
  [{ MAX_CONNECTIONS: '500' }, { maxConnections: 500 }],
  [{ SEND_TIMEOUT_MS: '60000' }, { sendTimeoutMs: 60_000 }],
  [{ DEMO: 'off' }, {}],
  [{ LOG_LEVEL: 'warn', SOMETHING_ELSE: 'x' }, { logLevel: 'warn' }],
])('%j', (env, changed) => {
  const read = readSettings(env)
  expect(read.ok && read.settings).toEqual({ ...DEFAULTS, ...changed })
})

test.each([
  ['HTTPS://T.Shop.Example', 'https://t.shop.example'],
  ['https://t.shop.example:443/', 'https://t.shop.example'],
  ['http://t.shop.example:80', 'http://t.shop.example'],
  ['https://t.shop.example:8443//', 'https://t.shop.example:8443'],
  ['https://b\u00fccher.example/in', 'https://xn--bcher-kva.example/in'],
  ['https://shop.example/In/./a/../b/?', 'https://shop.example/In/b'],
  ['https:\\\\shop.example\\in#', 'https://shop.example/in'],
  ['https://shop.example/ü', 'https://shop.example/%C3%BC'],
  ['http://127.1:8787', 'http://127.0.0.1:8787'],
])('PUBLIC_URL %s is kept as %s', (PUBLIC_URL, publicUrl) => {
  expect(readSettings({ PUBLIC_URL })).toMatchObject({ ok: true, settings: { publicUrl } })
})

test.each([
  'https://user:secret@t.shop.example',
  'https://:secret@t.shop.example',
  'ftp://t.example',
])('PUBLIC_URL %s is refused, and not repeated', (PUBLIC_URL) => {
  const read = readSettings({ PUBLIC_URL })
  expect(read).toMatchObject({
    ok: false,
    message: expect.stringContaining('PUBLIC_URL (environment): Exp'),
  })
  expect(JSON.stringify(read)).not.toContain('secret')
})

test.each([
  'x'.repeat(15),
  'x'.repeat(513),
  `${'x'.repeat(16)} y`,
  `${'x'.repeat(16)}\n`,
  'пароль-из-многих-букв',
])('METRICS_TOKEN %j is refused, and not repeated', (METRICS_TOKEN) => {
  expect(readSettings({ METRICS_TOKEN })).toEqual({
    ok: false,
    message:
      'The settings are invalid:\n  METRICS_TOKEN (environment): Expected 16 to 512 characters of ASCII without white space',
  })
})

test.each([[{ METRICS_PORT: '8787' }], [{ PORT: '9464', METRICS_PORT: '9464' }]])(
  'one port for both is refused: %j',
  (env) => {
    expect(readSettings(env)).toEqual({
      ok: false,
      message:
        'The settings are invalid:\n  METRICS_PORT (environment): Expected a port other than PORT',
    })
  },
)
test('each limit is a setting of its own', () => {
  const read = readSettings({
    CUSTOMER_EVENTS_PER_SECOND: '1',
    CUSTOMER_EVENTS_BURST: '2',
    CUSTOMER_BYTES_PER_SECOND: '3',
    CUSTOMER_BYTES_BURST: '4',
    ADDRESS_EVENTS_PER_SECOND: '5',
    ADDRESS_EVENTS_BURST: '6',
    ADDRESS_BYTES_PER_SECOND: '7',
    ADDRESS_BYTES_BURST: '8',
    DAILY_EVENTS: '9',
    DAILY_BYTES: '100000000000000',
  })
  expect(read.ok && read.settings.limits).toEqual({
    customer: { events: { perSecond: 1, burst: 2 }, bytes: { perSecond: 3, burst: 4 } },
    address: { events: { perSecond: 5, burst: 6 }, bytes: { perSecond: 7, burst: 8 } },
    daily: { events: 9, bytes: 1e14 },
  })
})

test.each(['0', '-1', '1.5', '1e3', '10 MB', '100000000000001'])(
  'not a valid limit: %s',
  (text) => {
    expect(readSettings({ ADDRESS_EVENTS_BURST: text, ADDRESS_BYTES_BURST: '9' })).toEqual({
      ok: false,
      message:
        'The settings are invalid:\n  ADDRESS_EVENTS_BURST (environment): Expected a whole number from 1 to 100000000000000',
    })
  },
)

test('every fault is in one message', () => {
  const read = readSettings({
    PORT: '65536',
    PUBLIC_URL: 't.shop.example',
    TRUSTED_PROXIES: 'nginx',
    METRICS_PORT: '-1',
    DEMO: 'yes',
    MAX_LIVE_VIEWS: '0',
    MAX_LIVE_VIEWS_PER_CUSTOMER: '1e3',
    LOG_LEVEL: 'loud',
  })
  expect(read.ok).toBe(false)
  if (!read.ok)
    expect(read.message.split('\n').slice(1)).toEqual([
      '  PORT (environment): Expected a port, 0 to 65535',
      '  PUBLIC_URL (environment): Expected an http or https address, without user and password',
      '  TRUSTED_PROXIES (environment): Expected addresses or networks, separated by commas',
      '  METRICS_PORT (environment): Expected a port, 0 to 65535',
      '  DEMO (environment): Expected on or off',
      '  LOG_LEVEL (environment): Expected fatal, error, warn, info, debug, trace or silent',
      '  MAX_LIVE_VIEWS (environment): Expected a whole number from 1 to 10000',
      '  MAX_LIVE_VIEWS_PER_CUSTOMER (environment): Expected a whole number from 1 to 10000',
    ])
})

test('a rule about two settings is reported together with the faults of others', () => {
  const read = readSettings({ PORT: '9', METRICS_PORT: '9', LOG_LEVEL: 'loud' })
  expect(!read.ok && read.message.split('\n').slice(1)).toEqual([
    '  LOG_LEVEL (environment): Expected fatal, error, warn, info, debug, trace or silent',
    '  METRICS_PORT (environment): Expected a port other than PORT',
  ])
})
