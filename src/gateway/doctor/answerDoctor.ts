import type { Addresses } from '../http/address.ts'
import { answer, headersFor, refuse } from '../http/answers.ts'
import { version } from '../lib/version.ts'
import { isLeft } from './nonce.ts'

/** Path of the question. Below /t, since a proxy may pass nothing else. */
export const DOCTOR_PATH = '/t/doctor'

/** How the gateway sees a request of doctor. */
export type Seen = {
  readonly version: string
  /** ms since 1970. */
  readonly now: number
  /** Why the gateway is not ready. Null if it is. */
  readonly unready: string | null
  /** Address of the other end of the connection. */
  readonly peer: string
  /** Address of the visitor, as the limits and the events get it. */
  readonly visitor: string
  /** The origin that the visitor asked for. */
  readonly asked: string
  /** The other end, if it sends headers of a proxy and is not trusted. */
  readonly unknownProxy: string | null
  readonly forwardedFor: string | null
}

export type AnswerDoctorOptions = {
  readonly dataDir: string
  readonly addresses: Addresses
  readonly findUnready: () => string | undefined
  readonly now: () => number
}

/**
 * GET /t/doctor?nonce=…: tells doctor how its request arrived. Only whoever can write in the data folder knows a nonce;
 * everybody else gets the 404 of an address without anything.
 */
export function createAnswerDoctor(options: AnswerDoctorOptions) {
  const { dataDir, addresses, findUnready, now } = options
  return async (request: Request, peer: string): Promise<Response> => {
    const nonce = new URL(request.url).searchParams.get('nonce') ?? ''
    if (!(await isLeft(dataDir, nonce)))
      return refuse(
        { status: 404, message: 'There is nothing at this address' },
        headersFor(DOCTOR_PATH),
      )
    return answer(200, {
      version,
      now: now(),
      unready: findUnready() ?? null,
      peer,
      visitor: addresses.visitor(request, peer),
      asked: addresses.asked(request, peer),
      unknownProxy: addresses.findUnknownProxy(request, peer) ?? null,
      forwardedFor: request.headers.get('x-forwarded-for'),
    } satisfies Seen)
  }
}
