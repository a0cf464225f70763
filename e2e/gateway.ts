import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Gateway, GatewayOptions, KeySettings, startGateway } from '../src/gateway/index.ts'

const DIST = fileURLToPath(new URL('../dist', import.meta.url))

const PLENTY = { perSecond: 1e12, burst: 1e12 }
/** Limits that refuse nothing, for senders that send as much as they can from one address. */
export const UNLIMITED = {
  customer: { events: PLENTY, bytes: PLENTY },
  address: { events: PLENTY, bytes: PLENTY },
} satisfies GatewayOptions['limits']

/** Loads the built gateway. */
export async function loadGateway(): Promise<{ startGateway: typeof startGateway }> {
  return import(pathToFileURL(join(DIST, 'gateway.js')).href)
}

/** Makes a new folder. The caller removes it. */
export function makeFolder(name: string): string {
  const parent = join(DIST, '../test-results/tmp')
  mkdirSync(parent, { recursive: true })
  return mkdtempSync(join(parent, `${name}-`))
}

/** Adds a customer that allows every origin of this machine. Automatic page views are off by default. */
export function addCustomer(
  { customers }: Gateway,
  config: KeySettings = {},
): { readonly customerId: string; readonly trackingKey: string } {
  const { customer } = customers.add({
    origins: ['loopback'],
    config: { pageViews: 'off', ...config },
  })
  return customer
}

/** A gateway in its own process. */
export type GatewayProcess = {
  readonly url: string
  /** Sends SIGKILL; resolves when the process has ended. */
  kill(): Promise<void>
}

/** Starts a gateway on an existing data folder, with limits high enough for several visitors at one address. */
export async function startGatewayProcess(dataDir: string): Promise<GatewayProcess> {
  const child = spawn(process.execPath, [join(DIST, 'shoptrail.js'), 'start'], {
    env: {
      ...process.env,
      PORT: '0',
      DATA_DIR: dataDir,
      DEMO: 'off',
      TRUSTED_PROXIES: '127.0.0.1',
      ADDRESS_EVENTS_PER_SECOND: '10000',
      ADDRESS_EVENTS_BURST: '100000',
      ADDRESS_BYTES_BURST: '1000000000',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const url = await new Promise<string>((resolve, reject) => {
    let output = ''
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk
      const found = /"url":"(http:[^"]+)"/.exec(output)?.[1]
      if (found) resolve(found)
    })
    child.once('exit', () => reject(new Error('The gateway ended')))
  })
  return {
    url,
    kill: () =>
      new Promise((resolve) => {
        child.once('exit', () => resolve())
        child.kill('SIGKILL')
      }),
  }
}
