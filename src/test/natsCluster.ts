import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { jetstreamManager } from '@nats-io/jetstream'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import { findPort } from './findPort.ts'

/** Accounts of a cluster. Each has its own streams and buckets, so tests that use different ones do not meet. */
const ACCOUNTS = 200
/** Name of a stream that is created to see whether the cluster can. */
const PROBE = 'probe'
/** In the folder of a cluster: an empty folder for each account that was taken. */
const TAKEN = 'taken'

/** How to connect to a cluster. */
export type NatsAccount = {
  /** `host:port` of every node. */
  readonly servers: readonly string[]
  readonly user: string
  readonly password: string
  /** Its name in the cluster. */
  readonly account: string
}

/** A real cluster of nats-server on loopback. */
export type NatsCluster = {
  /** With the configuration, the process id and the data of every node. Other processes join by it. */
  readonly folder: string
  readonly size: number
  /** `host:port` of every node. */
  readonly servers: readonly string[]
  /**
   * An account that nobody has taken before, with the addresses of all nodes.
   *
   * @throws Error if all are taken.
   */
  takeAccount(): NatsAccount
  /** The account in which the nodes answer for themselves. */
  readonly system: NatsAccount
  /** Kills a node with SIGKILL. Resolves when the process has ended. */
  kill(node: number): Promise<void>
  /** Stops a node with SIGTERM. Resolves when the process has ended. */
  stop(node: number): Promise<void>
  /** Starts a node that was killed, with its data. Resolves when it answers. */
  start(node: number): Promise<void>
  /** Suspends a node (SIGSTOP), and continues it (SIGCONT). */
  signal(node: number, signal: 'SIGSTOP' | 'SIGCONT'): void
  /**
   * Number of a node by its name, as the cluster information of a stream has it.
   *
   * @throws Error if there is no name: the stream has no leader now.
   */
  nodeOf(name: string | undefined): number
  /**
   * Number of the node of a connection.
   *
   * @throws Error if it is not connected now.
   */
  nodeOfConnection(nc: NatsConnection): number
  /** Kills all nodes, and deletes their data. */
  end(): Promise<void>
}

/**
 * Starts a cluster of nats-server with JetStream on free ports of 127.0.0.1.
 *
 * @param size Nodes. Default 3.
 * @param started How many of them are started, a majority. Default all.
 * @throws Error if nats-server is not installed, a node can not be started, or the cluster elects no leader within a
 * minute.
 */
export async function startNatsCluster(size = 3, started = size): Promise<NatsCluster> {
  for (let attempt = 1; ; attempt++)
    try {
      return await startOnFreePorts(size, started)
    } catch (error) {
      // Another process may have taken one of the ports meanwhile.
      if (!ENDED.test((error as Error).message) || attempt === ATTEMPTS) throw error
    }
}

async function startOnFreePorts(size: number, started: number): Promise<NatsCluster> {
  const folder = mkdtempSync(join(tmpdir(), 'shoptrail-nats-'))
  mkdirSync(join(folder, TAKEN))
  const routes: number[] = []
  for (let i = 0; i < size; i++) routes.push(await findPort())
  for (let i = 0; i < size; i++)
    writeFileSync(configFile(folder, i), configOf(folder, i, await findPort(), routes))
  const cluster = joinNatsCluster(folder)
  try {
    const nodes = cluster.servers.slice(0, started)
    await Promise.all(nodes.map((_, node) => cluster.start(node)))
    await awaitPeers(nodes, nameOf(folder))
  } catch (error) {
    await cluster.end()
    throw error
  }
  return cluster
}

/**
 * The same cluster for another process.
 *
 * @param folder Of a cluster that was started.
 */
export function joinNatsCluster(folder: string): NatsCluster {
  const size = readdirSync(folder).filter((name) => name.endsWith('.conf')).length
  const ports = Array.from({ length: size }, (_, node) => {
    const config = readFileSync(configFile(folder, node), 'utf8')
    return Number(/^listen: 127\.0\.0\.1:(\d+)$/m.exec(config)?.[1])
  })
  const servers = ports.map((port) => `127.0.0.1:${port}`)
  const password = nameOf(folder)

  function send(node: number, signal: NodeJS.Signals): number | undefined {
    const pid = readPid(folder, node)
    if (pid === undefined || !isAlive(pid)) return
    process.kill(pid, signal)
    return pid
  }

  async function end(node: number, signal: NodeJS.Signals): Promise<void> {
    const pid = send(node, signal)
    while (pid !== undefined && isAlive(pid)) await delay(POLL_MS)
    rmSync(pidFile(folder, node), { force: true })
  }

  return {
    folder,
    size,
    servers,
    takeAccount() {
      for (let number = 0; ; number++) {
        if (number === ACCOUNTS - 1) throw new Error(`The cluster has only ${ACCOUNTS} accounts`)
        try {
          // Tests run in several processes, and only one of them can make a folder.
          mkdirSync(join(folder, TAKEN, `${number}`))
          return { servers, user: `u${number}`, password, account: `A${number}` }
        } catch (error) {
          if ((error as { code?: string }).code !== 'EEXIST') throw error
        }
      }
    },
    system: { servers, user: 'sys', password, account: 'SYS' },
    kill: (node) => end(node, 'SIGKILL'),
    stop: (node) => end(node, 'SIGTERM'),
    async start(node) {
      const child = spawn('nats-server', ['-c', configFile(folder, node)], { stdio: 'ignore' })
      // The process that has started a node may end before the node.
      child.unref()
      await awaitAnswer(servers[node] as string, password, child)
    },
    signal: (node, signal) => void send(node, signal),
    nodeOf(name) {
      if (!name) throw new Error('There is no leader')
      return Number(name.slice(1))
    },
    nodeOfConnection(nc) {
      const node = servers.findIndex((server) => nc.getServer().endsWith(server))
      if (node === -1) throw new Error('There is no connection')
      return node
    },
    async end() {
      await Promise.all(servers.map((_, node) => end(node, 'SIGKILL')))
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/**
 * The name and the password of a cluster. They are its own, so that a node of another test that has taken one of its
 * ports neither counts as one of its nodes nor joins them.
 */
const nameOf = (folder: string): string => basename(folder)
const configFile = (folder: string, node: number): string => join(folder, `n${node}.conf`)
const pidFile = (folder: string, node: number): string => join(folder, `n${node}.pid`)

/** Undefined if the node does not run. */
function readPid(folder: string, node: number): number | undefined {
  try {
    return Number(readFileSync(pidFile(folder, node), 'utf8')) || undefined
  } catch {
    return undefined
  }
}

/** Whether a process runs. One that has ended may be listed until its parent has noticed. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    // Not Linux, or it has just ended.
    return process.platform !== 'linux'
  }
}

function configOf(folder: string, node: number, port: number, routes: readonly number[]): string {
  const name = nameOf(folder)
  const accounts = Array.from(
    { length: ACCOUNTS },
    (_, i) => `  A${i}: { jetstream: enabled, users: [{ user: u${i}, password: "${name}" }] }`,
  )
  return `
server_name: n${node}
listen: 127.0.0.1:${port}
pid_file: "${pidFile(folder, node)}"
jetstream { store_dir: "${join(folder, `n${node}`)}", max_mem: 256MB, max_file: 16GB }
accounts {
${accounts.join('\n')}
  SYS: { users: [{ user: sys, password: "${name}" }] }
}
system_account: SYS
cluster {
  name: "${name}"
  listen: 127.0.0.1:${routes[node]}
  routes: [${routes.map((route) => `nats://127.0.0.1:${route}`).join(', ')}]
}
`
}

/** How long a node may take to answer, and a cluster to elect a leader, ms. Long, for busy machines. */
const PATIENCE_MS = 60_000
const POLL_MS = 20
/** Attempts to start a cluster, each on other ports. */
const ATTEMPTS = 3
const ENDED = /^nats-server has ended with/

const delay = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** A node that has just begun to listen may reset connections, or stop listening for a moment. */
async function awaitAnswer(server: string, password: string, child: ChildProcess): Promise<void> {
  const until = performance.now() + PATIENCE_MS
  let failure: (Error & { code?: string }) | undefined
  child.once('error', (error) => {
    failure = error
  })
  while (!(await answers(server, password))) {
    if (failure?.code === 'ENOENT')
      throw new Error(
        'nats-server is not installed. Debian: apt-get install --no-install-recommends nats-server',
      )
    if (failure) throw failure
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(`nats-server has ended with ${child.exitCode ?? child.signalCode}`)
    if (performance.now() > until) throw new Error(`nats-server does not answer at ${server}`)
    await delay(POLL_MS)
  }
}

async function answers(server: string, pass: string): Promise<boolean> {
  try {
    const nc = await connect({ servers: server, user: 'sys', pass, reconnect: false })
    await nc.close()
    return true
  } catch {
    return false
  }
}

/** The nodes have to elect a leader of the JetStream API, and it has to know all of them. */
async function awaitPeers(servers: readonly string[], pass: string): Promise<void> {
  const until = performance.now() + PATIENCE_MS
  const nc = await connect({
    servers: [...servers],
    // The one that takeAccount would hand out last.
    user: `u${ACCOUNTS - 1}`,
    pass,
    waitOnFirstConnect: true,
  })
  try {
    const jsm = await jetstreamManager(nc, { timeout: 1_000, checkAPI: false })
    for (;;) {
      try {
        await jsm.streams.add({ name: PROBE, subjects: [PROBE], num_replicas: servers.length })
        await jsm.streams.delete(PROBE)
        return
      } catch (error) {
        // Not yet. The next request may be carried out.
        if (performance.now() > until)
          throw new Error('The cluster can not create a stream', { cause: error })
      }
      await delay(100)
    }
  } finally {
    await nc.close()
  }
}
