import { pathToFileURL } from 'node:url'
import type { EventLog } from '../gateway/collect/eventLog.ts'
import { createGroupCommit } from '../gateway/collect/groupCommit.ts'
import { createAsk } from '../gateway/nats/ask.ts'
import { connectBroker } from '../gateway/nats/broker.ts'
import { createNatsLog } from '../gateway/nats/eventLog.ts'
import { createSqliteLog } from '../gateway/sqlite/eventLog.ts'
import { startSqliteThread } from '../gateway/sqlite/thread.ts'
import { makeLogEvent } from './logEvents.ts'
import type { NatsAccount } from './natsCluster.ts'
import { makeRandomRecord } from './orderRecords.ts'

/** Where the log of a process is that `appendEvents` starts. */
export type LogPlace =
  | { readonly file: string; readonly worker: string }
  | { readonly account: NatsAccount }

/*
 * A process that appends events to a log and kills itself while it does. Arguments: the place as JSON, the customer, the
 * number of acknowledgements until then, what it appends: `events` or `orders`. It prints the id of each event before the append, with a +, and again after
 * its acknowledgement, with a =.
 */
const [, , place = '', customer = '', enough = '', kind = ''] = process.argv
let acknowledged = 0

async function openLog(place: LogPlace): Promise<EventLog> {
  if ('file' in place)
    return createSqliteLog(await startSqliteThread(place.file, pathToFileURL(place.worker)))
  const broker = await connectBroker(place.account)
  return createNatsLog({ broker, ask: createAsk(broker.nc) })
}

async function append(log: EventLog): Promise<never> {
  for (;;) {
    const event = kind === 'orders' ? makeRandomRecord(customer) : makeLogEvent({ customer })
    process.stdout.write(`+${event.id}\n`)
    await log.append([event])
    process.stdout.write(`=${event.id}\n`)
    if (++acknowledged === Number(enough)) process.kill(process.pid, 'SIGKILL')
  }
}

const log = createGroupCommit(await openLog(JSON.parse(place)))
await Promise.all(Array.from({ length: 32 }, () => append(log)))
