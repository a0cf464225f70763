import { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import { createBodyBudget, createReserve } from '../gateway/http/bodyBudget.ts'
import { createReadBody, type ReadBody } from '../gateway/http/readBody.ts'

/** Reads the body of a `Request` as the server reads that of a request from a socket. */
export function readBodyOf(request: Request): ReadBody {
  const body = request.body ? Readable.fromWeb(request.body as ReadableStream) : Readable.from([])
  const headers = Object.fromEntries(request.headers)
  const incoming = Object.assign(body, { headers }) as unknown as IncomingMessage
  const response = new EventEmitter() as ServerResponse
  const reserve = createReserve(createBodyBudget(), response, () => '203.0.113.9', 0)
  return createReadBody(incoming, reserve)
}
