import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { inject } from 'vitest'
import { PART_SETS, scriptFile } from '../build/partSets.mjs'
import type { LogRecord } from '../gateway/collect/eventLog.ts'
import { type Gateway, type GatewayOptions, startGateway } from '../gateway/index.ts'

/** Makes an empty folder for one test. */
export const makeFolder = (): string => mkdtempSync(join(tmpdir(), 'shoptrail-'))

/**
 * Makes a folder that is laid out like an installed gateway: `dist` has the bundles of buildGateway.ts and stand-ins
 * for the scripts, `dist/public` has stand-ins for the pages. The caller deletes the folder.
 *
 * @returns The folder's absolute path.
 */
export function layOutGateway(): string {
  const bundles = inject('gatewayBundles')
  // Below dist, so that Node finds the packages.
  const folder = mkdtempSync(`${bundles}-`)
  cpSync(bundles, join(folder, 'dist'), { recursive: true })
  writeScript(join(folder, 'dist'))
  writePages(join(folder, 'dist/public'))
  return folder
}

const WORKER = 'sqlite-worker.js'

/** Stand-ins for the scripts: valid expressions, which is all that the gateway expects of a script. */
function writeScript(folder: string): void {
  mkdirSync(join(folder, 'track'), { recursive: true })
  for (const set of PART_SETS)
    writeFileSync(
      join(folder, scriptFile(set)),
      `(function(config){globalThis.served=[config,${JSON.stringify(set)}];/* ăé漢 */})\n`,
    )
  writeFileSync(join(folder, 'inspector.js'), '(function(){})();')
  writeFileSync(join(folder, 'presence.js'), 'export{start};function start(){}')
}

/** Pages for the folders that the gateway serves as they are. */
function writePages(folder: string): void {
  for (const name of ['live', 'campaigns', 'people', 'forward', 'setup', 'shop']) {
    mkdirSync(join(folder, name), { recursive: true })
    writeFileSync(join(folder, name, 'index.html'), `<!doctype html><title>${name}</title>`)
    writeFileSync(join(folder, name, 'page.js'), 'export {}')
    writeFileSync(join(folder, name, 'cup.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>')
  }
  writeFileSync(join(folder, 'secret.txt'), 'outside')
}

/** A bundle of the log's worker, for tests that open a log in this process. */
export const workerFile = (): URL => pathToFileURL(join(inject('gatewayBundles'), WORKER))

/** Prepares a folder for gateways in this process. `start` may be called several times; the data stays. */
export async function prepareGateway() {
  const folder = layOutGateway()
  const running = new Set<Gateway>()
  return {
    folder,
    async start(options: Partial<GatewayOptions> = {}): Promise<Gateway> {
      const gateway = await startGateway({
        dataDir: join(folder, 'data'),
        scriptFolder: join(folder, 'dist'),
        publicFolder: join(folder, 'dist/public'),
        workerFile: pathToFileURL(join(folder, 'dist', WORKER)),
        ...options,
      })
      running.add(gateway)
      return gateway
    },
    async end(): Promise<void> {
      await Promise.all([...running].map((gateway) => gateway.close()))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** A gateway in a process of its own, with the demo customer. */
export type GatewayProcess = {
  readonly process: ChildProcess
  readonly url: string
  /** What it has printed so far. */
  readonly output: () => string
  /** Resolves with the exit code when the process has ended, and all that it has printed is read. */
  readonly ended: Promise<number | null>
  /** Sends a signal. Resolves like `ended`. */
  end(signal: NodeJS.Signals): Promise<number | null>
}

/**
 * @param folder The folder that `layOutGateway` has returned.
 * @param env Further variables. Default: PORT is 0, and DATA_DIR is a folder in `folder`.
 * @param wrapper A command that becomes the gateway by `exec`. Default none.
 */
export async function startProcess(
  folder: string,
  env: Readonly<Record<string, string>> = {},
  wrapper: readonly string[] = [],
): Promise<GatewayProcess> {
  const [command = '', ...args] = [
    ...wrapper,
    ...[process.execPath, join(folder, 'dist/shoptrail.js'), 'start', '--demo'],
  ]
  const child = spawn(command, args, {
    env: { PORT: '0', DRAIN_MS: '0', DATA_DIR: join(folder, 'data'), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const url = await new Promise<string>((resolve, reject) => {
    const listen = (chunk: Buffer) => {
      output += chunk
      const found = /(http:\/\/localhost:\d+)\/shop\//.exec(output)?.[1]
      if (found) resolve(found)
    }
    child.stdout.on('data', listen)
    child.stderr.on('data', listen)
    child.once('exit', () => reject(new Error(`It ended: ${output}`)))
  })
  return {
    process: child,
    url,
    output: () => output,
    ended,
    end(signal) {
      child.kill(signal)
      return ended
    },
  }
}

/** One HTTP answer. */
export type Answer = {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly bytes: Buffer
}

/** One request over a real socket, exactly as written: no client that repairs an address or a header. */
export type Sent = {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  readonly body?: string | Buffer
  /** Address of the sending end, one of 127.0.0.0/8. */
  readonly peer?: string
}

export function send(url: string, target: string, sent: Sent = {}): Promise<Answer> {
  const { hostname, port } = new URL(url)
  const { method = 'GET', headers = {}, body, peer } = sent
  return new Promise((resolve, reject) => {
    const request = httpRequest({
      hostname,
      port,
      path: target,
      method,
      agent: false,
      headers: {
        ...(body !== undefined &&
          !headers['transfer-encoding'] && { 'content-length': Buffer.byteLength(body) }),
        ...headers,
      },
      ...(peer && { localAddress: peer }),
    })
    request.on('error', reject)
    request.on('response', (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const bytes = Buffer.concat(chunks)
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: bytes.toString(),
          bytes,
        })
      })
    })
    request.end(body)
  })
}

/** Every record of a log. */
export async function recordsOf({ log }: Pick<Gateway, 'log'>): Promise<LogRecord[]> {
  const records: LogRecord[] = []
  for (;;) {
    const page = await log.read({ after: records.at(-1)?.seq ?? 0, max: 1_000 })
    records.push(...page)
    if (page.length < 1_000) return records
  }
}
