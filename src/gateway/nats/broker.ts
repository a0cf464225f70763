import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import {
  type JetStreamClient,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
} from '@nats-io/jetstream'
import {
  connect,
  credsAuthenticator,
  type NatsConnection,
  type NodeConnectionOptions,
} from '@nats-io/transport-node'
import { EngineAway } from '../engine/engineAway.ts'
import { version } from '../lib/version.ts'
import { ensureLayout, type Layout } from './layout.ts'
import { partitionOf } from './names.ts'
import type { NatsOptions } from './natsOptions.ts'

/** Errors that stay, whatever the cluster does: of the credentials, and of the options. */
const DENIED = /^(AuthorizationError|UserAuthenticationExpiredError)$/
const REFUSED = /^InvalidArgumentError$/

/** An open connection to the cluster, whose streams and buckets exist. */
export type Broker = Layout & {
  readonly nc: NatsConnection
  readonly js: JetStreamClient
  readonly jsm: JetStreamManager
  /** The partition of a customer. */
  readonly partitionOf: (customer: string) => number
  /** Sends what is buffered, then ends the connection. */
  close(): Promise<void>
}

/** Time for a connection to one server, ms. */
const CONNECT_MS = 5_000
/** Time between two attempts to connect again, ms. */
const RECONNECT_MS = 250
/** Time for an answer of the JetStream API, ms. A cluster that elects a leader answers after some seconds. */
const API_MS = 10_000
/** Least size of a message, bytes: an event has at most 128 KiB, and then its other properties. */
const MIN_PAYLOAD_BYTES = 2 ** 18
/**
 * Time between two pings, ms, and pings without an answer after which the connection is given up. A node that hangs
 * (SIGSTOP, a disk, a network) keeps its connections open.
 */
export const PING_MS = 2_000
export const MAX_PINGS_OUT = 2

/**
 * Connects, and creates what is missing in the cluster. A connection that is lost is made again, for ever.
 *
 * @throws EngineAway if no server answers, or the cluster has no leader. Error that says what is wrong and what to do:
 * the credentials are refused, a file can not be read, JetStream is not enabled, the streams have another number of
 * partitions.
 */
export async function connectBroker(options: NatsOptions): Promise<Broker> {
  const nc = await connectNats(options)
  try {
    refuseSmallPayload(nc.info?.max_payload)
    const jsm = await jetstreamManager(nc, { timeout: API_MS, checkAPI: false })
    const layout = await ensureLayout(nc, jsm, options)
    return {
      ...layout,
      nc,
      jsm,
      js: jetstream(nc, { timeout: API_MS }),
      partitionOf: (customer) => partitionOf(customer, layout.partitions),
      // Without a connection nothing can be sent.
      close: () => nc.drain().catch(() => nc.close()),
    }
  } catch (error) {
    await nc.close()
    throw error
  }
}

/**
 * An event that the servers refuse would fail those of other visitors that are written with it.
 *
 * @throws Error that says what to change.
 */
export function refuseSmallPayload(maxPayload = MIN_PAYLOAD_BYTES): void {
  if (maxPayload < MIN_PAYLOAD_BYTES)
    throw new Error(
      `nats-server takes messages of at most ${maxPayload} bytes. Set max_payload to ${MIN_PAYLOAD_BYTES} or more, or leave it out, which is 1 MB`,
    )
}

/** @throws EngineAway and Error, see connectBroker. */
export async function connectNats(options: NatsOptions): Promise<NatsConnection> {
  const settings = connectionOptions(options)
  try {
    const nc = await connect(settings)
    const { options: used, protocol } = nc as unknown as Internals
    // Otherwise the second refusal ends the connection for ever, although an operator may correct the credentials. Not
    // set for `connect`, which would try wrong credentials for ever.
    used.ignoreAuthErrorAbort = true
    destroyStaleSockets(nc, protocol)
    return nc
  } catch (error) {
    const { name, message } = error as Error
    const servers = options.servers.join(', ')
    if (DENIED.test(name))
      throw new Error(
        `The cluster at ${servers} (ENGINE) does not let this process in: ${message}. Set NATS_USER and NATS_PASSWORD, NATS_TOKEN, NATS_CREDENTIALS, or NATS_CERT and NATS_KEY as its configuration has them`,
        { cause: error },
      )
    const what = `The cluster can not be reached at ${servers} (ENGINE): ${message}. Check that nats-server runs there, and the NATS_ settings`
    if (REFUSED.test(name)) throw new Error(what, { cause: error })
    throw new EngineAway(what, 'The cluster can not be reached', error)
  }
}

/** Parts of the library's connection that its public interface does not have. */
type Internals = {
  readonly options: { ignoreAuthErrorAbort?: boolean }
  readonly protocol: { readonly transport: { readonly socket?: Socket } }
}

/**
 * The library ends a connection without answers only after the socket has taken everything that was sent. The socket of
 * a node that does not read takes nothing, so the library would wait for it for ever, and not connect elsewhere.
 */
async function destroyStaleSockets(
  nc: NatsConnection,
  protocol: Internals['protocol'],
): Promise<void> {
  for await (const { type } of nc.status())
    if (type === 'staleConnection') protocol.transport.socket?.destroy()
}

function connectionOptions(options: NatsOptions): NodeConnectionOptions {
  const { servers, isTls, credentialsFile, user, password, token, caFile, certFile, keyFile } =
    options
  const hasTls = isTls || caFile !== undefined || certFile !== undefined
  return {
    servers: [...servers],
    name: `shoptrail ${version}`,
    timeout: CONNECT_MS,
    maxReconnectAttempts: -1,
    reconnectTimeWait: RECONNECT_MS,
    pingInterval: PING_MS,
    maxPingOut: MAX_PINGS_OUT,
    ...(user !== undefined && { user }),
    ...(password !== undefined && { pass: password }),
    ...(token !== undefined && { token }),
    ...(credentialsFile !== undefined && {
      authenticator: credsAuthenticator(createCredentials(credentialsFile)),
    }),
    ...(hasTls && {
      tls: {
        ...(caFile !== undefined && { ca: read('NATS_CA', caFile).toString() }),
        ...(certFile !== undefined && { cert: read('NATS_CERT', certFile).toString() }),
        ...(keyFile !== undefined && { key: read('NATS_KEY', keyFile).toString() }),
      },
    }),
  }
}

/**
 * The content of a credentials file, read again at each connection. If it can not be read then, since it is just being
 * replaced, the content that was read before is used.
 *
 * @throws Error if it can not be read the first time.
 */
function createCredentials(path: string): () => Buffer {
  let content = read('NATS_CREDENTIALS', path)
  return () => {
    try {
      content = readFileSync(path)
    } catch {
      // The content that was read before is returned.
    }
    return content
  }
}

function read(setting: string, path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    throw new Error(`${setting}: ${path} can not be read: ${(error as Error).message}`)
  }
}
