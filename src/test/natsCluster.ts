import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from '@nats-io/transport-node'
import { findPort } from './findPort.ts'

/** Accounts of a cluster. Each has its own streams and buckets, so tests that use different ones do not meet. */
const ACCOUNTS = 200
const PASSWORD = 'loopback'

/** How to connect to a cluster. */
export type NatsAccount = {
  /** `host:port` of every node. */
  readonly servers: readonly string[]
  readonly user: string
  readonly password: string
}

/** A real cluster of nats-server on loopback. */
export type NatsCluster = {
  readonly size: number
  /** `host:port` of every node. */
  readonly servers: readonly string[]
  /** An account that nobody has taken before, with the addresses of all nodes. */
  takeAccount(): NatsAccount
  /** Kills a node with SIGKILL. Resolves when the process has ended. */
  kill(node: number): Promise<void>
  /** Stops a node with SIGTERM. Resolves when the process has ended. */
  stop(node: number): Promise<void>
  /** Starts a node that was killed, with its data. Resolves when it answers. */
  start(node: number): Promise<void>
  /** Suspends a node (SIGSTOP), and continues it (SIGCONT). */
  signal(node: number, signal: 'SIGSTOP' | 'SIGCONT'): void
  /** Number of a node by its name, as the cluster information of a stream has it. */
  nodeOf(name: string | undefined): number
  /** Resolves when the nodes have elected a leader of the JetStream API. */
  ready(): Promise<void>
  /** Kills all nodes, and deletes their data. */
  end(): Promise<void>
}

/** Whether the binary is there. */
export function findNatsServer(): boolean {
  try {
    execFileSync('nats-server', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/**
 * Starts a cluster of nats-server with JetStream on free ports of 127.0.0.1.
 *
 * @param size Nodes. Default 3.
 * @throws Error if a node can not be started or the cluster elects no leader within a minute.
 */
export async function startNatsCluster(size = 3): Promise<NatsCluster> {
  const folder = mkdtempSync(join(tmpdir(), 'shoptrail-nats-'))
  const nodes: { port: number; config: string; process?: ChildProcess }[] = []
  const routes: number[] = []
  for (let i = 0; i < size; i++) routes.push(await findPort())
  for (let i = 0; i < size; i++) {
    const port = await findPort()
    const config = join(folder, `n${i}.conf`)
    writeFileSync(config, configOf(folder, i, port, routes))
    nodes.push({ port, config })
  }
  let account = 0

  async function start(node: number): Promise<void> {
    const { port, config } = nodes[node] as (typeof nodes)[number]
    const child = spawn('nats-server', ['-c', config], { stdio: 'ignore' })
    ;(nodes[node] as (typeof nodes)[number]).process = child
    await awaitPort(port, child)
  }

  async function end(node: number, signal: NodeJS.Signals): Promise<void> {
    const child = nodes[node]?.process
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const gone = new Promise((resolve) => child.once('exit', resolve))
    child.kill(signal)
    await gone
  }

  const servers = nodes.map(({ port }) => `127.0.0.1:${port}`)
  const cluster: NatsCluster = {
    size,
    servers,
    takeAccount() {
      return accountOf(servers, account++)
    },
    kill: (node) => end(node, 'SIGKILL'),
    stop: (node) => end(node, 'SIGTERM'),
    start,
    signal: (node, signal) => void nodes[node]?.process?.kill(signal),
    nodeOf: (name) => Number(name?.slice(1)),
    ready: () => awaitLeader(nodes.map(({ port }) => port)),
    async end() {
      await Promise.all(nodes.map((_, node) => end(node, 'SIGKILL')))
      rmSync(folder, { recursive: true, force: true })
    },
  }
  try {
    await Promise.all(nodes.map((_, node) => start(node)))
    await cluster.ready()
  } catch (error) {
    await cluster.end()
    throw error
  }
  return cluster
}

/**
 * An account of a cluster.
 *
 * @throws Error if there are not so many.
 */
export function accountOf(servers: readonly string[], number: number): NatsAccount {
  if (number >= ACCOUNTS) throw new Error(`The cluster has only ${ACCOUNTS} accounts`)
  return { servers, user: `u${number}`, password: PASSWORD }
}

function configOf(folder: string, node: number, port: number, routes: readonly number[]): string {
  const accounts = Array.from(
    { length: ACCOUNTS },
    (_, i) => `  A${i}: { jetstream: enabled, users: [{ user: u${i}, password: ${PASSWORD} }] }`,
  )
  return `
server_name: n${node}
listen: 127.0.0.1:${port}
jetstream { store_dir: "${join(folder, `n${node}`)}", max_mem: 256MB, max_file: 16GB }
accounts {
${accounts.join('\n')}
  SYS: { users: [{ user: sys, password: ${PASSWORD} }] }
}
system_account: SYS
cluster {
  name: shoptrail
  listen: 127.0.0.1:${routes[node]}
  routes: [${routes.map((route) => `nats://127.0.0.1:${route}`).join(', ')}]
}
`
}

/** How long a node may take to listen, and a cluster to elect a leader, ms. Long, for busy machines. */
const PATIENCE_MS = 60_000

async function awaitPort(port: number, child: ChildProcess): Promise<void> {
  const until = performance.now() + PATIENCE_MS
  while (!(await isOpen(port))) {
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(`nats-server has ended with ${child.exitCode ?? child.signalCode}`)
    if (performance.now() > until) throw new Error(`nats-server does not listen on ${port}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

const isOpen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = createConnection(port, '127.0.0.1')
    const settle = (open: boolean) => {
      socket.destroy()
      resolve(open)
    }
    socket.once('connect', () => settle(true))
    socket.once('error', () => settle(false))
  })

/** The JetStream API answers only if the nodes have a leader. */
async function awaitLeader(ports: readonly number[]): Promise<void> {
  const until = performance.now() + PATIENCE_MS
  const nc = await connect({
    servers: ports.map((port) => `127.0.0.1:${port}`),
    user: 'u0',
    pass: PASSWORD,
    waitOnFirstConnect: true,
  })
  try {
    for (;;) {
      try {
        const answer = await nc.request('$JS.API.INFO', '', { timeout: 1_000 })
        if (!answer.json<{ error?: unknown }>().error) return
      } catch {
        // No leader yet. The next request may get an answer.
      }
      if (performance.now() > until) throw new Error('The cluster has no leader')
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  } finally {
    await nc.close()
  }
}
