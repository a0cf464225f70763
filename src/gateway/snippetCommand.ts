import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { brotliCompressSync } from 'node:zlib'
import { validate } from '../contract/index.ts'
import { stubOf, tagOf } from './check/snippetLines.ts'
import { placeOf } from './clusterCommand.ts'
import type { Customer } from './customers/customers.ts'
import { findMismatch } from './dataCommand.ts'
import { type Done, done, type Fault, failed, misused } from './lib/command.ts'
import { version } from './lib/version.ts'
import {
  hashOf,
  isHash,
  MAX_PINNED,
  type PinnedScript,
  type PinnedScripts,
  toIntegrity,
} from './script/pinnedScripts.ts'
import { composeScript, readScriptFiles } from './script/serveScript.ts'
import type { Settings } from './settings.ts'
import { createSqliteCustomers } from './sqlite/customers.ts'
import { prepareDataFolder } from './sqlite/dataFolder.ts'

/** Options of `shoptrail snippet`, as they were typed. */
export type SnippetOptions = {
  readonly key?: string | undefined
  readonly gateway?: string | undefined
  readonly keep?: boolean | undefined
  readonly integrity?: boolean | undefined
  readonly list?: boolean | undefined
  readonly remove?: string | undefined
}

export const SNIPPET_OPTIONS = ['key', 'gateway', 'keep', 'integrity', 'list', 'remove']

/** Whether it needs the data. The tag and the stub alone do not. */
export const needsData = ({ integrity, list, remove }: SnippetOptions): boolean =>
  !!integrity || !!list || remove !== undefined

/**
 * `snippet`: prints the stub and the tag of a key, to paste into the head of every page. With `integrity` the tag loads
 * a script that never changes, which is made and kept now. `list` and `remove` are about these scripts.
 *
 * @param scriptFolder Folder of the build.
 * @throws Error if the data can not be opened.
 */
export function runSnippet(
  options: SnippetOptions,
  settings: Settings,
  scriptFolder: string,
): Done {
  const { key, integrity, list, remove } = options
  if (!key || !validate('serveJavascript', { trackingKey: key }).ok)
    return misused('Expected the tracking key of a customer, 6 to 20 characters: snippet --key KEY')
  if ([integrity, list, remove !== undefined].filter(Boolean).length > 1)
    return misused('Expected only one of --integrity, --list and --remove')
  if (remove !== undefined && !isHash(remove))
    return misused('Expected --remove with a hash of 64 characters, as snippet --list prints it')
  const gateway = readGateway(options.gateway ?? settings.publicUrl)
  if (!needsData(options))
    return gateway.ok ? done(stubOf(undefined, options.keep), tagOf(gateway.address, key)) : gateway
  if (integrity && !gateway.ok) return gateway
  return withCustomer(key, settings, (customer, pinned) => {
    if (list) return done(...listOf(pinned.list(key)))
    if (remove !== undefined)
      return pinned.remove(key, remove)
        ? done('Removed. Pages with its tag load no script any more.')
        : failed(`The key ${key} has no script with this hash`)
    const hash = pin(customer, pinned, settings, scriptFolder)
    if (!hash)
      return failed(
        `The key ${key} has ${MAX_PINNED} scripts that stay the same, and may not have more. Remove one that no page uses any more:`,
        ...listOf(pinned.list(key)),
        `npx shoptrail snippet --key ${key} --remove HASH`,
      )
    const { address } = gateway as { address: string }
    return done(stubOf(customer.config.global, options.keep), pinnedTag(address, key, hash))
  })
}

/** The tag of a script that never changes. */
const pinnedTag = (gateway: string, key: string, hash: string): string =>
  tagOf(gateway, key).replace(
    '"></script>',
    () => `/${hash}.js" integrity="${toIntegrity(hash)}" crossorigin="anonymous"></script>`,
  )

/** Makes the script of today and keeps it. Undefined if the key has too many. */
function pin(
  customer: Customer,
  pinned: PinnedScripts,
  { publicUrl }: Settings,
  scriptFolder: string,
): string | undefined {
  const { script } = composeScript(readScriptFiles(scriptFolder), customer, publicUrl)
  const hash = hashOf(script)
  const isKept = pinned.add(customer.trackingKey, { hash, version }, brotliCompressSync(script))
  return isKept ? hash : undefined
}

function withCustomer(
  key: string,
  settings: Settings,
  work: (customer: Customer, pinned: PinnedScripts) => Done,
): Done {
  const folder = resolve(settings.dataDir)
  prepareDataFolder(folder)
  const mismatch = findMismatch(folder)
  if (mismatch) return failed(mismatch)
  const file = join(folder, 'customers.db')
  const unknown = failed(
    `No customer in ${placeOf(settings)} has the tracking key ${key}: npx shoptrail customer list`,
  )
  // A wrong DATA_DIR stays empty.
  if (!existsSync(file)) return unknown
  const customers = createSqliteCustomers(file)
  try {
    const customer = customers.findByTrackingKey(key)
    if (!customer) return unknown
    const [fault] = customer.faults
    if (fault)
      return failed(
        `The stored ${fault.part} of this customer can not be used: ${fault.reason}. See: npx shoptrail customer list`,
      )
    return work(customer, customers.pinned)
  } finally {
    customers.close()
  }
}

const listOf = (scripts: readonly PinnedScript[]): readonly string[] =>
  scripts.length === 0
    ? ['There are none. To make one: npx shoptrail snippet --key KEY --integrity']
    : scripts.map(
        ({ hash, version, madeAt }) =>
          `${hash}  made ${new Date(madeAt).toISOString().slice(0, 10)}  version ${version}`,
      )

/** Reads the gateway's address as a person types it. */
export function readGateway(
  text: string | undefined,
): { readonly ok: true; readonly address: string } | Fault {
  if (text === undefined)
    return misused(
      "Expected the gateway's public address: --gateway https://gateway.example, or the variable PUBLIC_URL",
    )
  try {
    const { protocol, origin, pathname, search, hash, username, password } = new URL(text)
    if (/^https?:$/.test(protocol) && !search && !hash && !username && !password)
      return { ok: true, address: origin + pathname.replace(/\/+$/, '') }
  } catch {
    // Said below.
  }
  return misused(
    `Expected --gateway as an http or https address, such as https://gateway.example: ${text}`,
  )
}
