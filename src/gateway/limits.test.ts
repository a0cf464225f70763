import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { MAX_HTML_CHARACTERS } from '../contract/campaigns.ts'
import { MAX_AGENT_CHARACTERS, MAX_EVENT_BYTES } from '../contract/delivery.ts'
import {
  MAX_HOST_CHARACTERS,
  MAX_SHORT_CHARACTERS,
  MAX_TEXT_CHARACTERS,
  MAX_URL_CHARACTERS,
} from '../contract/fields.ts'
import { MAX_REPORTED } from '../contract/lists.ts'
import { MAX_MONEY_CHARACTERS } from '../contract/money.ts'
import { MAX_PRODUCTS } from '../contract/orders.ts'
import { MAX_ATTRIBUTES } from '../contract/serverFields.ts'
import { MAX_CHANNELS, MAX_TAGS } from '../contract/subscribers.ts'
import { MAX_CREATE_BYTES, MAX_LIMIT } from './campaigns/campaignOperations.ts'
import {
  LARGE_CREATES,
  MAX_CHECK_BYTES,
  MAX_FILTER_BYTES,
  SMALL_CREATE_BYTES,
} from './campaigns/rest.ts'
import {
  CHECKS,
  MAX_CHECK_MS,
  MAX_PAGE_BYTES,
  MAX_PAGE_MS,
  MAX_REQUESTS,
} from './check/ownCheck.ts'
import { MAX_BATCH_BYTES, MAX_BATCH_EVENTS, MAX_BATCH_VALUES } from './collect/collect.ts'
import { DEFAULT_QUEUE } from './collect/groupCommit.ts'
import { MAX_BATCH_PARAMETERS, MAX_URL_PARAMETERS } from './collect/privacy.ts'
import { MAX_IGNORED } from './customers/ignored.ts'
import { MAX_MASKED, MAX_SETTINGS_BYTES } from './customers/keySettingsBounds.ts'
import { ONE, PAIR } from './customers/keyThrottle.ts'
import { MAX_RETENTION_DAYS } from './customers/retention.ts'
import { MAX_HOPS } from './http/address.ts'
import { MAX_LEVELS, MAX_VALUES } from './http/body.ts'
import { DEFAULT_BODY_BUDGET_BYTES, SMALL_BYTES } from './http/bodyBudget.ts'
import { MAX_PARKED } from './http/connections.ts'
import { SHOWN_CUSTOMERS } from './http/customerCounts.ts'
import { DEFAULT_MAX_CONNECTIONS } from './http/descriptors.ts'
import { HEAD_TIMEOUT_MS, KEEP_ALIVE_MS, REQUEST_TIMEOUT_MS } from './http/httpServer.ts'
import {
  DEFAULT_LIMITS,
  DEFAULT_MAX_HEADER_BYTES,
  DEFAULT_SEND_TIMEOUT_MS,
  MAX_HEADERS,
} from './http/limits.ts'
import { MAX_METRICS_CONNECTIONS } from './http/metricsServer.ts'
import { MAX_HOST_LENGTH } from './http/origins.ts'
import type { Rate } from './http/rateLimit.ts'
import { LINES_EACH, LINES_OF_ALL } from './logs/refusalLines.ts'
import { ASK_TIMEOUT_MS, MAX_REPLY_BYTES, PIECE_BYTES } from './nats/ask.ts'
import { PROBE_MS } from './nats/breaker.ts'
import { MAX_PINGS_OUT, PING_MS } from './nats/broker.ts'
import { CONTENTS, MAX_INLINE_BYTES, SUMMARIES } from './nats/campaigns.ts'
import { MAX_COUNTS_BYTES } from './nats/countsMessage.ts'
import { HAS_MS } from './nats/eventLog.ts'
import { CATCH_UP_MS } from './nats/follower/followCampaigns.ts'
import { MAX_JOBS } from './nats/follower/jobs.ts'
import { LEASE_MS } from './nats/follower/leaseBucket.ts'
import { FENCE_MS } from './nats/follower/leases.ts'
import { EXPORT_IDLE_MS, MAX_EXPORTS } from './nats/follower/tasks/people.ts'
import { MAX_ROW_BYTES, PATIENCE_MS } from './nats/mirrorWriter.ts'
import {
  DEFAULT_DUPLICATE_WINDOW_MS,
  DEFAULT_PARTITIONS,
  DEFAULT_REPLICAS,
  MAX_PARTITIONS,
  MAX_REPLICAS,
  MIN_DUPLICATE_WINDOW_MS,
} from './nats/natsOptions.ts'
import { FIND_MS } from './nats/orders.ts'
import { ANSWER_MS } from './nats/publisher.ts'
import { DEFAULT_LIVE_LIMITS } from './operators/live.ts'
import { MAX_MISSED } from './operators/livePages.ts'
import { MAX_BODY_BYTES, MAX_EXPORT_MS, SEARCHES } from './operators/peoplePages.ts'
import { MAX_SESSIONS, MAX_SESSIONS_OF_CUSTOMER, SESSION_SECONDS } from './operators/sessions.ts'
import { MAX_LIST_MS } from './orders/addressList.ts'
import { ADDRESS_LISTS, SAME_STATE } from './orders/orderRoutes.ts'
import { MAX_CHARACTERS, MAX_FAULTS } from './problems/pageReport.ts'
import { MAX_PROBLEMS } from './problems/problemList.ts'
import { KEPT_DAYS, MAX_FAULTS_OF_REASON, MAX_STORED_FAULTS } from './problems/problems.ts'
import { MAX_PINNED } from './script/pinnedScripts.ts'
import { BEST_COMPRESSIONS, MAX_LIST_LENGTH } from './script/serveScript.ts'
import { MAX_BYTES as MAX_SETTINGS_FILE_BYTES } from './settings/settingsFile.ts'
import { SETTINGS } from './settings.ts'
import { MAX_FURTHER_CALLS } from './sqlite/forwardRunner.ts'
import { MAX_BLOCK_TOUCHES } from './sqlite/reportBlocks.ts'
import { DAILY_NAMES } from './sqlite/reportNumbers.ts'
import {
  MAX_ADDRESS_DEVICES,
  MAX_ADDRESS_ORDERS,
  MAX_BLOCK_ORDERS,
  MAX_DEVICE_ADDRESSES,
} from './sqlite/reportOrders.ts'
import { MAX_DEVICE_TOUCHES } from './sqlite/reportParts.ts'
import { MAX_FOUND } from './sqlite/reportSeen.ts'

type Row = readonly [limit: string, value: string, setting: string, answer: string]

const root = fileURLToPath(new URL('../../', import.meta.url))
const rows = [
  ...readFileSync(`${root}docs/limits.md`, 'utf8').matchAll(
    /^\| ((?!limit \|)[^|]+?) +\| ([^|]+?) +\| ([^|]*?) *\| ([^|]+?) \|$/gm,
  ),
].map(([, ...cells]) => cells as unknown as Row)

const number = (value: number): string => value.toLocaleString('en')
const bytes = (value: number): string => {
  const power = [30, 20, 10].find((unit) => value % 2 ** unit === 0) ?? 0
  return `${number(value / 2 ** power)} ${{ 30: 'GiB', 20: 'MiB', 10: 'KiB', 0: 'bytes' }[power]}`
}
const seconds = (ms: number): string => `${ms / 1_000} s`
const characters = (value: number): string => `${number(value)} characters`
const rate = ({ perSecond, burst }: Rate, shown = number): string =>
  `${shown(perSecond)} a second, ${shown(burst)} at once`
const wrongKeys = ({ burst, forgetMs }: typeof PAIR): string =>
  `${burst}, then ${1_000 / forgetMs} a second`

const permits = ({ permitsOfOne, permits, maxWaiting, waitMs }: typeof CONTENTS): string =>
  `${permitsOfOne}, and ${permits}; ${number(maxWaiting)} wait for ${seconds(waitMs)}`

const { address, customer, daily } = DEFAULT_LIMITS

/** What a row must begin with, and its default as the code has it. */
const EXPECTED: readonly (readonly [limit: string, value: string])[] = [
  ['events of an address', rate(address.events)],
  ['bytes of these events', rate(address.bytes, bytes)],
  ["events of a customer's pages", rate(customer.events)],
  ['bytes of these events', rate(customer.bytes, bytes)],
  ["events that a customer's pages store in a day", number(daily.events)],
  ['bytes of their payloads', bytes(daily.bytes)],
  ['wrong keys from one address for one customer', wrongKeys(PAIR)],
  ['wrong keys from one address, or for one customer', wrongKeys(ONE)],
  ['connections', `${number(DEFAULT_MAX_CONNECTIONS)}, fewer if the process may open fewer files`],
  ['requests that wait for an earlier one', number(MAX_PARKED)],
  ['the head of a request', bytes(DEFAULT_MAX_HEADER_BYTES)],
  ['headers of a request', number(MAX_HEADERS)],
  ['time to receive the head', seconds(HEAD_TIMEOUT_MS)],
  ['time to receive the whole request', seconds(REQUEST_TIMEOUT_MS)],
  ['time in which the other end reads nothing', seconds(DEFAULT_SEND_TIMEOUT_MS)],
  ['time in which a connection may be idle', seconds(KEEP_ALIVE_MS)],
  ['connections of `METRICS_PORT`', number(MAX_METRICS_CONNECTIONS)],
  [`requests with more than ${bytes(SMALL_BYTES)}`, bytes(DEFAULT_BODY_BUDGET_BYTES)],
  ['the header Host', characters(MAX_HOST_LENGTH)],
  ['a list in a header', characters(MAX_LIST_LENGTH)],
  ['hops of X-Forwarded-For', number(MAX_HOPS)],
  ['the body of an event', bytes(MAX_EVENT_BYTES)],
  ['the body of a batch', `${bytes(MAX_BATCH_BYTES)} and ${MAX_BATCH_EVENTS} events`],
  ['the body of a campaign', bytes(MAX_CREATE_BYTES)],
  ['the body of a search for campaigns', bytes(MAX_FILTER_BYTES)],
  ['the body of a check of keys', bytes(MAX_CHECK_BYTES)],
  ['the body of a check of keys', bytes(MAX_BODY_BYTES)],
  ['values in the body of an event or a campaign', number(MAX_VALUES)],
  ['values in the body of a batch', number(MAX_BATCH_VALUES)],
  ['parameters of a url', number(MAX_URL_PARAMETERS)],
  ['parameters in the URLs of a batch', number(MAX_BATCH_PARAMETERS)],
  ['levels of lists and objects', number(MAX_LEVELS)],
  ['url', characters(MAX_URL_CHARACTERS)],
  ['host of a url', characters(MAX_HOST_CHARACTERS)],
  ['event name; device id', characters(MAX_SHORT_CHARACTERS)],
  ['user agent', characters(MAX_AGENT_CHARACTERS)],
  ["a campaign's HTML", characters(MAX_HTML_CHARACTERS)],
  [
    'products of an order; tags, channels and attributes of a subscriber',
    `${MAX_PRODUCTS}; ${MAX_TAGS}, ${MAX_CHANNELS} and ${MAX_ATTRIBUTES}`,
  ],
  ['number of an order', characters(MAX_SHORT_CHARACTERS)],
  ['text of an amount', characters(MAX_MONEY_CHARACTERS)],
  ['faulty elements of a list', number(MAX_REPORTED)],
  ['every other text', characters(MAX_TEXT_CHARACTERS)],
  [
    'events that wait to be stored',
    `${number(DEFAULT_QUEUE.maxEvents)}, or ${bytes(DEFAULT_QUEUE.maxBytes)}`,
  ],
  ['time that an event waits', seconds(DEFAULT_QUEUE.deadlineMs)],
  ['new event names', number(DAILY_NAMES)],
  ['events of one device', number(MAX_DEVICE_TOUCHES)],
  ['events that the reports keep of a block of 1,024 devices', number(MAX_BLOCK_TOUCHES)],
  ['earlier events of a device', number(MAX_FOUND)],
  ['campaigns of one page', number(MAX_LIMIT)],
  [
    `campaigns above ${bytes(SMALL_CREATE_BYTES)}`,
    `${LARGE_CREATES.permits}, and ${LARGE_CREATES.maxWaiting} wait for ${seconds(LARGE_CREATES.waitMs)}`,
  ],
  ['streams that customers are spread over', `${DEFAULT_PARTITIONS}, at most ${MAX_PARTITIONS}`],
  ['nodes that keep each event', `${DEFAULT_REPLICAS}, at most ${MAX_REPLICAS}`],
  [
    'time that the cluster remembers the id',
    `${seconds(DEFAULT_DUPLICATE_WINDOW_MS)}, at least ${seconds(MIN_DUPLICATE_WINDOW_MS)}`,
  ],
  ['time after which an event that is not acknowledged is sent', seconds(ANSWER_MS)],
  ['time between two probes of a partition', seconds(PROBE_MS)],
  ['time after which a connection to a node', seconds((MAX_PINGS_OUT + 1) * PING_MS)],
  ['time for a change of customers, keys or sessions', seconds(PATIENCE_MS)],
  ["time that a page's question", seconds(HAS_MS)],
  ['time that a call about an order or subscriber', seconds(FIND_MS)],
  [
    'time without a renewal',
    `${seconds(LEASE_MS)}; the holder gives it up after ${seconds(FENCE_MS)}`,
  ],
  [
    "downloads of persons' data that a follower",
    `${MAX_EXPORTS}, each idle for at most ${seconds(EXPORT_IDLE_MS)}`,
  ],
  ['time for an answer of a follower', seconds(ASK_TIMEOUT_MS)],
  ['an answer of a follower', `${bytes(MAX_REPLY_BYTES)}, in messages of ${bytes(PIECE_BYTES)}`],
  ['content of a campaign', bytes(MAX_INLINE_BYTES)],
  ['campaigns that a gateway stores or reads whole', permits(CONTENTS)],
  ['lists and summaries of campaigns', permits(SUMMARIES)],
  ['time that a list of campaigns waits', seconds(CATCH_UP_MS)],
  ['searches for persons and erasures that a follower carries out', number(MAX_JOBS)],
  ['a row of what followers share', bytes(MAX_ROW_BYTES)],
  ['counts of problems in one message', bytes(MAX_COUNTS_BYTES)],
  ['scripts compressed with the best quality', rate(BEST_COMPRESSIONS)],
  ['pinned scripts', number(MAX_PINNED)],
  ['names in `mask`', number(MAX_MASKED)],
  ['settings of a key', bytes(MAX_SETTINGS_BYTES)],
  ['addresses and networks that a customer ignores', number(MAX_IGNORED)],
  ['days that events are kept', `no limit, or 1 to ${number(MAX_RETENTION_DAYS)}`],
  ['different problems of a customer', number(MAX_FAULTS_OF_REASON)],
  [
    `different problems that are stored, of all customers; kept for ${KEPT_DAYS} days`,
    number(MAX_STORED_FAULTS),
  ],
  [
    'report of a page',
    `${characters(MAX_CHARACTERS)}, ${MAX_FAULTS} entries, each counts at most 1,000`,
  ],
  ['problems that one answer lists', number(MAX_PROBLEMS)],
  [
    "sessions of the operators' pages",
    `${number(MAX_SESSIONS)}, each for ${SESSION_SECONDS / 3_600} hours`,
  ],
  ['sessions of one customer', number(MAX_SESSIONS_OF_CUSTOMER)],
  ['live views', number(DEFAULT_LIVE_LIMITS.maxViews)],
  ['live views of one customer', number(DEFAULT_LIVE_LIMITS.maxViewsOfCustomer)],
  ['events that a live view catches up on, such as in a tab that was hidden', number(MAX_MISSED)],
  [
    'searches for a person',
    `${SEARCHES.permitsOfOne}, and ${SEARCHES.maxWaiting / 2} wait for ${seconds(SEARCHES.waitMs)}`,
  ],
  ['the same of all customers', number(SEARCHES.permits)],
  ["time of a download of a person's data", `${MAX_EXPORT_MS / 60_000} minutes`],
  ['calls at once of all destinations', `one of each, and ${MAX_FURTHER_CALLS} more`],
  ['lists of unsubscribed addresses that are being sent', permits(ADDRESS_LISTS)],
  ['time of such a list', `${MAX_LIST_MS / 60_000} minutes`],
  ['devices of an e-mail address', `${number(MAX_ADDRESS_DEVICES)} each`],
  ['devices of an e-mail address', `${number(MAX_ADDRESS_ORDERS)} each`],
  ['addresses that one device gives', number(MAX_DEVICE_ADDRESSES)],
  ['orders of a campaign', number(MAX_BLOCK_ORDERS)],
  [
    'calls about the same order or subscriber that wait',
    `${SAME_STATE.maxWaiting / 2}, and ${number(SAME_STATE.maxWaiting)} wait for ${seconds(SAME_STATE.waitMs)}`,
  ],
  ['checks of shops', `${CHECKS.permitsOfOne}, and ${CHECKS.permits}`],
  [
    'one such check',
    `${MAX_REQUESTS} requests, ${seconds(MAX_CHECK_MS)}; a page ${seconds(MAX_PAGE_MS)} and ${bytes(MAX_PAGE_BYTES)} after decompression, 5 redirects`,
  ],
  ['the settings file', bytes(MAX_SETTINGS_FILE_BYTES)],
  ['log lines about refused events', `${LINES_EACH}, and ${LINES_OF_ALL} a second`],
  ['customers that `/metrics` names', number(SHOWN_CUSTOMERS)],
]

/** Without the sign of a word's end a row could pass for one that is longer. */
const begins = (limit: string, begin: string): boolean =>
  limit.startsWith(begin) && !/^\w/.test(limit.slice(begin.length))

test.each(EXPECTED)('docs/limits.md has the default of the code: %s, %s', (begin, value) => {
  const same = rows.filter(([limit]) => begins(limit, begin)).map(([, shown]) => shown)
  expect(same).toContain(value)
})

test('every row of docs/limits.md is read', () => {
  expect(rows.length).toBeGreaterThanOrEqual(new Set(EXPECTED.map(([limit]) => limit)).size)
  for (const [limit, value, , answer] of rows) expect([limit, value, answer]).not.toContain('')
})

test('the settings that docs/limits.md names exist, and every limit that is a setting is there', () => {
  const named = rows.flatMap(([, , setting]) => [...setting.matchAll(/`([A-Z_]+)`/g)])
  const names = new Set(named.map(([, name = '']) => name))
  for (const name of names) expect(['SETTINGS_FILE', ...Object.keys(SETTINGS)]).toContain(name)
  const limits = Object.keys(SETTINGS).filter((name) =>
    /^(MAX|DAILY|ADDRESS|CUSTOMER)_|_(BYTES|TIMEOUT_MS)$/.test(name),
  )
  expect([...names]).toEqual(expect.arrayContaining(limits))
})
