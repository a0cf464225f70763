import type { Worked } from './backupCommand.ts'
import { runLater } from './forwardCommand/calls.ts'
import type { Env, ForwardOptions } from './forwardCommand/readOptions.ts'
import { findForwardFault, forward, type Named } from './forwardCommand.ts'
import { type Done, failed, misused } from './lib/command.ts'
import { writePieces } from './lib/printable.ts'
import { createAsk } from './nats/ask.ts'
import { type Broker, connectBroker } from './nats/broker.ts'
import { createNatsForwarding, findDestination } from './nats/forwarding.ts'
import { toEntryKey } from './nats/mirrorEntries.ts'
import { CUSTOMERS_BUCKET, entrySubject, streamOfBucket } from './nats/names.ts'
import type { NatsOptions } from './nats/natsOptions.ts'
import { explainUnknown, withOutcomes } from './nats/outcomes.ts'
import { createNatsPeople } from './nats/people.ts'
import type { People } from './people/people.ts'
import type { Person } from './people/person.ts'
import {
  describeKept,
  describeProof,
  listProofs,
  nothing,
  type PersonOptions,
  readRequest,
} from './personCommand.ts'

/** The exit code of a wrong command line, as sysexits.h has it. */
const EX_USAGE = 64
const PLACE = 'the cluster'

/** Connects, and carries out a command by the followers of a cluster. */
async function withBroker(
  cluster: NatsOptions,
  run: (broker: Broker) => Promise<Done>,
): Promise<Worked> {
  try {
    const broker = await connectBroker(cluster)
    try {
      const done = await run(broker)
      if (done.ok) return { code: 0, lines: done.lines }
      return { code: done.isUsage ? EX_USAGE : 1, lines: [], errors: done.lines }
    } finally {
      await broker.close()
    }
  } catch (error) {
    return { code: 1, lines: [], errors: [(error as Error).message] }
  }
}

/** Whether the bucket of the customers has a row. */
async function hasRow({ jsm }: Broker, table: string, ...key: string[]): Promise<boolean> {
  // From the leader: another node may not have it yet.
  const entry = await jsm.streams.getMessage(streamOfBucket(CUSTOMERS_BUCKET), {
    last_by_subj: entrySubject(CUSTOMERS_BUCKET, toEntryKey(table, key)),
  })
  // What is left of a row that was deleted has no data.
  return entry !== null && entry.data.length > 0
}

/** The command that shows what a command has changed. */
function lookFor([verb = '', id = '']: readonly string[], { destination }: Named): string {
  if (/^(mend|replay|discard)$/.test(verb)) return `npx shoptrail forward letters ${id}`
  return `npx shoptrail forward list ${destination?.customer ?? id}`
}

/**
 * `forward …` in a cluster: the follower that holds the partition of the customer carries it out.
 *
 * @param timeoutMs Time for the answer of the follower, ms. Default see createNatsForwarding.
 */
export const prepareForward =
  (
    words: readonly string[],
    options: ForwardOptions,
    cluster: NatsOptions,
    env: Env,
    timeoutMs?: number,
  ) =>
  async (): Promise<Worked> =>
    withBroker(cluster, async (broker) => {
      const fault = findForwardFault(words)
      if (fault) return fault
      const { partitions, partitionOf } = broker
      const ask = createAsk(broker.nc)
      const held = () => []
      const forwarding = createNatsForwarding({ ask, partitions, partitionOf, held, timeoutMs })
      const [verb = '', id] = words
      const isOfCustomer = verb === 'add' || verb === 'list'
      const named: Named = {
        isCustomer: isOfCustomer && id !== undefined && (await hasRow(broker, 'customers', id)),
        destination: isOfCustomer
          ? undefined
          : await findDestination(ask, partitions, id as string),
      }
      const explained = withOutcomes(forwarding, lookFor(words, named))
      return runLater(forward(words, options, env, PLACE, named), explained)
    })

/**
 * `person …` in a cluster: the follower that holds the partition of the customer carries it out.
 *
 * @param stdout Where an export is written.
 * @param timeoutMs Time for an answer of the follower, ms. Default see createNatsPeople.
 */
export const preparePerson =
  (
    verb: string,
    options: PersonOptions,
    cluster: NatsOptions,
    stdout: NodeJS.WritableStream = process.stdout,
    timeoutMs?: number,
  ) =>
  async (): Promise<Worked> =>
    withBroker(cluster, async (broker) => {
      const read = readRequest(verb, options)
      if (!read.ok) return read
      const { customer, person } = read
      const isKnown =
        (await hasRow(broker, 'customers', customer)) ||
        (await hasRow(broker, 'retired', 'customer_id', customer))
      if (!isKnown) return failed(`There is no customer ${customer} in ${PLACE}`)
      const people = createNatsPeople(createAsk(broker.nc), broker.partitionOf, timeoutMs)
      if (!person) return { ok: true, lines: listProofs(await people.proofs(customer)) }
      if (verb === 'export') return writeExport(people, customer, person, stdout)
      if (!options.yes) {
        const kept = await people.find(customer, person)
        return kept ? misused(...describeKept(kept)) : nothing(customer)
      }
      const proof = await people.erase(customer, person).catch((error) => {
        throw explainUnknown(
          error,
          `Repeat the command: it removes what is left. See what was erased: npx shoptrail person proofs --customer ${customer}`,
        )
      })
      return proof ? { ok: true, lines: describeProof(proof) } : nothing(customer)
    })

async function writeExport(
  people: People,
  customer: string,
  person: Person,
  stdout: NodeJS.WritableStream,
): Promise<Done> {
  const exported = await people.export(customer, person)
  if (!exported) return nothing(customer)
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const piece = await exported?.next()
      if (!piece) return
      yield piece
    }
  }
  try {
    await writePieces(pieces(), stdout)
    return { ok: true, lines: [] }
  } catch (error) {
    return failed(`The output is incomplete: ${(error as Error).message}`)
  } finally {
    exported.end()
  }
}
