import type { NatsConnection, ServerInfo } from '@nats-io/transport-node'
import { connectNats } from '../nats/broker.ts'
import type { NatsOptions } from '../nats/natsOptions.ts'
import { error, type Found, ok, warning } from './finding.ts'

/** A node of the cluster, or a place where none answers. */
export type ClusterNode =
  | { readonly place: string; readonly name: string; readonly version: string }
  | { readonly place: string; readonly fault: string }

/** Nodes that are asked. A cluster with more of them has the same version everywhere, or nearly so. */
const MAX_NODES = 16

/** Nodes that a quorum of three replicas needs. */
const FEW_NODES = 3

/** First version that is not outdated. */
const OLDEST: Version = [2, 10, 23]
/** Versions that could lose streams when processes are killed (https://jepsen.io/analyses/nats-2.12.1). */
const UNSAFE = [20, 21, 22].map((patch): Version => [2, 10, patch])

type Version = readonly [major: number, minor: number, patch: number]

/** Asks every node of ENGINE, and those that they name, for its version. */
export async function readNodes(nc: NatsConnection, options: NatsOptions): Promise<ClusterNode[]> {
  const named = (nc.info as ServerInfo | undefined)?.connect_urls ?? []
  const places = [...new Set([...options.servers.map(withPort), ...named])].slice(0, MAX_NODES)
  const nodes = await Promise.all(places.map((place) => readNode(place, options)))
  // A node has several places: its name and its addresses.
  const seen = new Set<string>()
  return nodes.filter((node) => {
    if ('fault' in node) return true
    if (seen.has(node.name)) return false
    seen.add(node.name)
    return true
  })
}

async function readNode(place: string, options: NatsOptions): Promise<ClusterNode> {
  try {
    const nc = await connectNats({ ...options, servers: [place] })
    const { server_name: name, version } = nc.info as ServerInfo
    await nc.close()
    return { place, name, version }
  } catch (failure) {
    return {
      place,
      fault: ((failure as Error).cause as Error | undefined)?.message ?? `${failure}`,
    }
  }
}

const withPort = (server: string): string => (/:\d+$/.test(server) ? server : `${server}:4222`)

/**
 * The nodes and their versions.
 *
 * @param servers Those of ENGINE.
 */
export function checkNodes(servers: readonly string[], nodes: readonly ClusterNode[]): Found[] {
  const found: Found[] = []
  const up = nodes.flatMap((node) => ('fault' in node ? [] : [node]))
  for (const { name, place, version } of up)
    found.push(checkVersion(`${name} at ${place}`, version))
  const configured = new Set(servers.map(withPort))
  // A node's own address may be one that only the cluster can reach.
  for (const node of nodes)
    if ('fault' in node && configured.has(node.place))
      found.push(
        warning(
          `No node answers at ${node.place} (ENGINE): ${node.fault}`,
          'Start nats-server there, or remove the address from ENGINE',
        ),
      )
  if (up.length < FEW_NODES)
    found.push(
      warning(
        `${up.length === 1 ? 'Only one node was' : `Only ${up.length} nodes were`} reached. One that fails may stop everything`,
        'Run three nodes, and list all of them in ENGINE',
      ),
    )
  if (new Set(up.map(({ version }) => version)).size > 1)
    found.push(
      warning(
        'The nodes have different versions',
        'That is meant for the time of an upgrade. Upgrade the others, one after the other',
      ),
    )
  return found
}

function checkVersion(node: string, version: string): Found {
  const what = `${node} is nats-server ${version}`
  const parts = version.split('.').map((part) => Number.parseInt(part, 10))
  const [major = 0, minor = 0, patch = 0] = parts
  const isOne = (other: Version) => other.join('.') === [major, minor, patch].join('.')
  const fix = 'Install the latest version of a series from 2.10.23 on, one node after the other'
  if (UNSAFE.some(isOne)) return error(`${what}, which could lose streams when it was killed`, fix)
  if (isOlder([major, minor, patch], OLDEST)) return warning(`${what}, which is outdated`, fix)
  return ok(what)
}

function isOlder(version: Version, than: Version): boolean {
  for (const [i, part] of version.entries()) if (part !== than[i]) return part < (than[i] as number)
  return false
}
