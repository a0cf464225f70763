import { createAdmission } from './collect/admission.ts'
import { createQuota } from './collect/quota.ts'
import { createCustomerLookup } from './customers/customerLookup.ts'
import type { Addresses } from './http/address.ts'
import { type Answer, toResponse } from './http/answers.ts'
import type { Limits } from './http/limits.ts'
import type { Metrics } from './http/metrics.ts'
import { Unavailable } from './lib/unavailable.ts'
import { createServePinned } from './script/servePinned.ts'
import { createServeFile, createServeScript, type ScriptFiles } from './script/serveScript.ts'
import { openKnownCustomers } from './sqlite/knownCustomers.ts'

export type WaitingScriptsOptions = {
  /** Folder with the copy of the customers. */
  readonly dataDir: string
  readonly script: ScriptFiles
  readonly addresses: Addresses
  readonly limits: Limits
  readonly metrics: Metrics
  readonly publicUrl: string | undefined
  readonly now: () => number
  readonly monotonicNow: () => number
}

/** The scripts that a gateway serves while it can not reach its cluster. */
export type WaitingScripts = {
  /** Undefined for other requests, and if this gateway does not know the key: another one may have added it. */
  answer(request: Request, peer: string): Promise<Response> | undefined
  close(): void
}

/**
 * Serves the scripts of the customers that this gateway knew when it ran the last time, so that pages keep their events
 * while the cluster is away.
 *
 * @param unknown The answer for a key or a pinned script that is not known here.
 * @returns Undefined if the gateway knows no customers.
 * @throws Error if the copy can not be opened.
 */
export function openWaitingScripts(
  options: WaitingScriptsOptions,
  unknown: (request: Request) => Response,
): WaitingScripts | undefined {
  const known = openKnownCustomers(options.dataDir, options.now)
  if (!known) return undefined
  const { addresses, limits, metrics, monotonicNow, publicUrl, script, now } = options
  const dependencies = {
    ...{ addresses, monotonicNow, publicUrl, script },
    customers: createCustomerLookup(known),
    pinned: known.pinned,
    // It may be a key of a customer that is not known yet.
    problems: { unknownKey() {} },
    admission: createAdmission({
      ...{ limits, metrics, addresses, monotonicNow },
      quota: createQuota(limits.daily, now),
      log: { append: () => Promise.reject(new Unavailable('The cluster can not be reached')) },
      onUnknownProxy() {},
    }),
  }
  const serveScript = createServeScript(dependencies)
  const servePinned = createServePinned(dependencies)
  const files = new Map([
    ['/t/i.js', createServeFile(script.further.get('inspector'))],
    ['/t/p.js', createServeFile(script.further.get('presence'))],
  ])

  async function serve(
    request: Request,
    peer: string,
    key: string,
    file: string | undefined,
  ): Promise<Answer> {
    return file === undefined
      ? serveScript(request, peer, key)
      : servePinned(request, peer, key, file)
  }

  return {
    answer(request, peer) {
      if (request.method !== 'GET' && request.method !== 'HEAD') return undefined
      const { pathname } = new URL(request.url)
      const file = files.get(pathname)
      if (file) return file(request).then(toResponse)
      const [, key, pinned] = /^\/t\/j\/([\w-]+)(?:\/([\w.-]+))?$/.exec(pathname) ?? []
      if (key === undefined) return undefined
      return serve(request, peer, key, pinned).then(
        (answer) => (answer.status === 404 ? unknown(request) : toResponse(answer)),
        () => unknown(request),
      )
    },
    close: known.close,
  }
}
