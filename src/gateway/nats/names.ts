import { createHash } from 'node:crypto'

/*
 * The names in the cluster. Streams, buckets and subjects of one installation are in one NATS account.
 *
 * Every partition is one stream with four kinds of messages, in one order:
 *   events.{partition}.{customer}    an event, see eventMessage.ts
 *   removed.{partition}.{customer}   positions of events that were erased, see removedMessage.ts
 *   expired.{partition}.{customer}   up to where the events have expired, see removedMessage.ts. Only the last one is kept
 *   counts.{partition}               counts of problems and coverage, see countsMessage.ts
 */

/** Bucket of the tables of customers.db: customers, keys, sessions, pinned scripts. */
export const CUSTOMERS_BUCKET = 'shoptrail-customers'
/** Bucket of campaigns, without their content. */
export const CAMPAIGNS_BUCKET = 'shoptrail-campaigns'
/** Bucket of what followers have made and can not make again from the log: positions of destinations, closed figures. */
export const DERIVED_BUCKET = 'shoptrail-derived'
/** Bucket of the leases of partitions. */
export const LEASES_BUCKET = 'shoptrail-leases'
/** Bucket of the salts of days. */
export const SALTS_BUCKET = 'shoptrail-salts'
/** Bucket of the layout: the number of partitions, and a random id. */
export const LAYOUT_BUCKET = 'shoptrail-layout'
/** Object store of large values: the content of campaigns. */
export const CONTENT_STORE = 'shoptrail-content'

/** The stream of a bucket, as NATS names it. */
export const streamOfBucket = (bucket: string): string => `KV_${bucket}`

/** The subject of an entry of a bucket, as NATS names it. With an empty key the prefix of all of them. */
export const entrySubject = (bucket: string, key: string): string => `$KV.${bucket}.${key}`

/** All partitions, from 0. */
export const allPartitions = (partitions: number): readonly number[] =>
  Array.from({ length: partitions }, (_, partition) => partition)

export const streamOf = (partition: number): string => `shoptrail-events-${partition}`

/** The subjects of a stream. */
export const subjectsOf = (partition: number): string[] => [
  `events.${partition}.*`,
  `removed.${partition}.*`,
  `expired.${partition}.*`,
  `counts.${partition}`,
]

/** Subject of a customer's events. */
export const eventSubject = (partition: number, customer: string): string =>
  `events.${partition}.${toToken(customer)}`

/** Subject of the erased events of a customer. */
export const removedSubject = (partition: number, customer: string): string =>
  `removed.${partition}.${toToken(customer)}`

/** Subject of the position up to which a customer's events have expired. */
export const expiredSubject = (partition: number, customer: string): string =>
  `expired.${partition}.${toToken(customer)}`

export const countsSubject = (partition: number): string => `counts.${partition}`

/** Subject of questions to the follower that holds a partition. Not in a stream. */
export const askSubject = (partition: number): string => `shoptrail.ask.${partition}`

/** Subject on which the holder of a partition says how much customers have stored today. Not in a stream. */
export const usageSubject = (partition: number): string => `shoptrail.usage.${partition}`

/**
 * The partition of a customer, from 0. The same for ever: its events stay in one stream, in one order.
 *
 * @param partitions The number of streams.
 */
export const partitionOf = (customer: string, partitions: number): number =>
  createHash('sha256').update(customer).digest().readUInt32BE(0) % partitions

/**
 * A text as one token of a subject or of a bucket's key: letters, digits, `_` and `-` stay, every other byte of UTF-8
 * is written as `=` and two hexadecimal digits. Tokens are separated by dots.
 */
export const toToken = (text: string): string =>
  text.replace(/[^\w-]/gu, (character) =>
    [...Buffer.from(character)].map((byte) => `=${byte.toString(16).padStart(2, '0')}`).join(''),
  )

/** The text of a token that `toToken` has made. */
export const fromToken = (token: string): string =>
  token.includes('=') ? decodeURIComponent(token.replaceAll('=', '%')) : token
