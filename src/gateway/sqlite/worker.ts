import { basename } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { explain, isDamaged } from './database.ts'
import { openStore } from './store.ts'
import type { Question, Reply } from './thread.ts'

/**
 * The thread in which the store lives: a commit that waits for a slow disk, a checkpoint or a long read
 * stops no connection. It answers one question after the other.
 */
const file = workerData as string
const store = openStore(file)

const { campaigns } = store

const answer = (question: Question): unknown => {
  if (question.kind === 'append') return store.append(question.cells)
  if (question.kind === 'hasEvents') return store.has(question.customer, question.ids)
  if (question.kind === 'read') return store.read(question.range)
  if (question.kind === 'findTail') return store.findTail(question.customer, question.max)
  if (question.kind === 'createCampaign') return store.createCampaign(question.row)
  if (question.kind === 'findCampaigns') return campaigns.find(question.customer, question.ids)
  if (question.kind === 'findHead') return campaigns.findHead(question.customer, question.id)
  if (question.kind === 'listCampaigns') return campaigns.list(question.customer, question.query)
  if (question.kind === 'listSizes') return campaigns.listSizes(question.customer, question.query)
  if (question.kind === 'hasEmail') return campaigns.hasEmail()
  if (question.kind === 'probe') return store.probe()
  if (question.kind === 'version') return store.version()
  if (question.kind === 'usage') return store.usage()
  return store.close()
}

parentPort?.on('message', (question: Question) => {
  let reply: Reply
  try {
    reply = { number: question.number, value: answer(question) }
  } catch (error) {
    const isDamage = isDamaged(error)
    const message = error instanceof Error ? error.message : String(error)
    reply = {
      number: question.number,
      error: isDamage ? explain(basename(file), error) : message,
      isDamage,
    }
  }
  parentPort?.postMessage(reply)
})
parentPort?.postMessage({ number: 0, value: undefined } satisfies Reply)
