import { promisify } from 'node:util'
import { brotliDecompress } from 'node:zlib'
import { LRUCache } from 'lru-cache'
import type { Admission } from '../collect/admission.ts'
import type { CustomerLookup } from '../customers/customerLookup.ts'
import type { Addresses } from '../http/address.ts'
import type { Answer, Refusal } from '../http/answers.ts'
import type { RequestHead } from '../http/requestHead.ts'
import { Unavailable } from '../lib/unavailable.ts'
import type { Problems } from '../problems/recorder.ts'
import { hashOf, isHash, type PinnedScripts } from './pinnedScripts.ts'
import {
  encode,
  type Forms,
  NOT_FOUND,
  refuseScript,
  respond,
  SCRIPT_HEADERS,
} from './serveScript.ts'

export type PinnedDependencies = {
  readonly customers: CustomerLookup
  readonly pinned: Pick<PinnedScripts, 'find'>
  readonly addresses: Addresses
  readonly admission: Pick<Admission, 'script'>
  readonly problems: Pick<Problems, 'unknownKey'>
}

/** Scripts that are kept ready in every encoding, about 50 kB each. */
const MAX_CACHED = 100

/** Its address has the hash of its text, so it can be kept for as long as anything (RFC 8246). */
const HEADERS = {
  ...SCRIPT_HEADERS,
  vary: 'Accept-Encoding',
  'cache-control': 'public, max-age=31536000, immutable',
}

const NOT_PINNED: Refusal = {
  ok: false,
  status: 404,
  message:
    'The key has no script with this hash. Make a tag for the script of today: npx shoptrail snippet --key KEY --integrity',
}

/**
 * GET /t/j/{key}/{hash}.js: a pinned script, the same for ever. 404 for another hash, and for a key that no customer
 * has (any more): its pages could not send events either.
 */
export function createServePinned(dependencies: PinnedDependencies) {
  const { customers, pinned, addresses, admission, problems } = dependencies
  const cache = new LRUCache<string, Promise<Forms>>({ max: MAX_CACHED })

  return async function servePinned(
    request: RequestHead,
    peer: string,
    trackingKey: string,
    file: string,
  ): Promise<Answer> {
    const limited = admission.script(addresses.visitor(request, peer))
    if (limited) return refuseScript(limited, request)
    if (!customers.findByTrackingKey(trackingKey)) {
      problems.unknownKey(request, trackingKey)
      return refuseScript(NOT_FOUND, request)
    }
    const hash = file.replace(/\.js$/, '')
    const bytes = file !== hash && isHash(hash) ? pinned.find(trackingKey, hash) : undefined
    if (!bytes) return refuseScript(NOT_PINNED, request)
    const name = `${trackingKey} ${hash}`
    const forms = cache.get(name) ?? decode(bytes, hash)
    cache.set(name, forms)
    // Until it is stored again.
    forms.catch(() => cache.delete(name))
    return respond(request, await forms)
  }
}

async function decode(bytes: Buffer, hash: string): Promise<Forms> {
  const text = await promisify(brotliDecompress)(bytes)
  // A browser would refuse it, and keep it for a year.
  if (hashOf(text) !== hash) throw new Unavailable('The stored script is damaged', 30)
  return encode(text, HEADERS)
}
