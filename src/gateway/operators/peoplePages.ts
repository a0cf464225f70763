import { answer, JSON_HEADERS, type Refusal, refuse } from '../http/answers.ts'
import { streamParts } from '../http/partStream.ts'
import type { Connected } from '../http/requestEnv.ts'
import { createSemaphore } from '../http/semaphore.ts'
import { Unavailable } from '../lib/unavailable.ts'
import type { People } from '../people/people.ts'
import { type Person, readPerson } from '../people/person.ts'
import { type Operators, readOwnJson } from './operators.ts'

export type PeoplePageDependencies = {
  readonly people: People
  readonly operators: Operators
  /** Called with the error that has broken off a download. */
  readonly onError: (error: unknown, route: string) => void
}

/** Each reads all events of a customer. A download counts until it has ended. */
export const SEARCHES = {
  permits: 4,
  permitsOfOne: 1,
  maxWaiting: 20,
  waitMs: 5_000,
  message: 'Another search for a person of this customer is running',
}

/** Largest body of a question. */
export const MAX_BODY_BYTES = 4_096
/** How long a download may take, ms. */
export const MAX_EXPORT_MS = 30 * 60_000

const NOTHING: Refusal = { ok: false, status: 404, message: 'Nothing is kept of this person' }

/**
 * The data of the people page, for operators who may see the customer of `?customer=ID`: 401 without a sign-in, 403
 * for another customer, 404 if nothing is kept. A person is `{"email"}` or `{"did"}` in a body of JSON, never in an
 * address, since addresses are logged by proxies; it is not in an error either.
 *
 * - POST /people/data/find: a Kept
 * - POST /people/data/export: the data as JSON, to download
 * - POST /people/data/erase, with `"erase": true` in addition: a Proof
 * - GET /people/data/proofs: `{data}`, the newest proofs
 *
 * At once, one of them runs for a customer. Rejects with TooMany, and with Unavailable.
 */
export function createPeoplePages({ people, operators, onError }: PeoplePageDependencies) {
  const searches = createSemaphore(SEARCHES)

  type Asked = {
    readonly ok: true
    readonly customerId: string
    readonly person: Person
    readonly body: Readonly<Record<string, unknown>>
  }

  async function read(
    request: Request,
    peer: string,
    { env }: Connected<'readBody'>,
  ): Promise<Asked | Refusal> {
    const watched = operators.findWatched(request, peer)
    if (!watched.ok) return watched
    const read = await readOwnJson(request, env.readBody, MAX_BODY_BYTES)
    if (!read.ok) return read
    const body = (read.json ?? {}) as Record<string, unknown>
    const { ok, ...asked } = readPerson(body)
    return 'person' in asked
      ? { ok: true, customerId: watched.customerId, person: asked.person, body }
      : { ok: false, status: 422, message: asked.message }
  }

  /** A handler that answers what `ask` finds of a person. */
  const asking =
    (
      ask: (customerId: string, person: Person) => Promise<unknown>,
      findFault: (body: Asked['body']) => Refusal | undefined = () => undefined,
    ) =>
    async (request: Request, peer: string, context: Connected<'readBody'>): Promise<Response> => {
      const asked = await read(request, peer, context)
      if (!asked.ok) return refuse(asked)
      const { customerId, person, body } = asked
      const fault = findFault(body)
      if (fault) return refuse(fault)
      const release = await searches.acquire(customerId)
      try {
        const found = await ask(customerId, person)
        return found === undefined ? refuse(NOTHING) : answer(200, found)
      } finally {
        release()
      }
    }

  async function download(
    request: Request,
    peer: string,
    context: Connected<'readBody' | 'breakOff'>,
  ): Promise<Response> {
    const asked = await read(request, peer, context)
    if (!asked.ok) return refuse(asked)
    const { customerId, person } = asked
    const findEnd = operators.watchGrant(request, peer, customerId)
    const release = await searches.acquire(customerId)
    try {
      const found = await people.export(customerId, person)
      if (!found) {
        release()
        return refuse(NOTHING)
      }
      const until = performance.now() + MAX_EXPORT_MS
      const parts = streamParts({
        async next() {
          if (performance.now() > until || findEnd() !== undefined)
            throw new Unavailable('The download has ended', 5)
          return found.next()
        },
        onEnd() {
          found.end()
          release()
        },
        breakOff(error) {
          onError(error, '/people/data/export')
          context.env.breakOff()
        },
      })
      return new Response(parts, { headers: DOWNLOAD_HEADERS })
    } catch (error) {
      release()
      throw error
    }
  }

  async function proofs(request: Request, peer: string): Promise<Response> {
    const watched = operators.findWatched(request, peer)
    if (!watched.ok) return refuse(watched)
    return answer(200, { data: await people.proofs(watched.customerId) })
  }

  return {
    find: asking((customerId, person) => people.find(customerId, person)),
    export: download,
    erase: asking(
      (customerId, person) => people.erase(customerId, person),
      ({ erase }) => (erase === true ? undefined : NOT_CONFIRMED),
    ),
    proofs,
  }
}

const NOT_CONFIRMED: Refusal = {
  ok: false,
  status: 422,
  message: 'This can not be undone. Expected "erase": true to confirm it',
}

const DOWNLOAD_HEADERS = {
  ...JSON_HEADERS,
  // Not the person: browsers keep the names of downloads.
  'content-disposition': 'attachment; filename="person.json"',
}
