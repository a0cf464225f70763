import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { PART_SETS, scriptFile } from '../build/partSets.mjs'
import type { LogRecord } from '../gateway/collect/eventLog.ts'
import { type Gateway, type GatewayOptions, startGateway } from '../gateway/index.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** A folder that only this test has. */
export const makeFolder = (): string => mkdtempSync(join(tmpdir(), 'shoptrail-'))

/**
 * Bundles entries of the gateway as the build does, for what must run as a file of its own: Node 20 reads
 * no TypeScript, in a thread or in a process. Below dist, so that the packages are found.
 *
 * @returns A folder laid out as the product is, with the script's stand-in and pages: `dist` with one
 * `.js` an entry, `public`. Delete it after.
 */
export async function bundleGateway(entries: Record<string, string>): Promise<string> {
  mkdirSync(join(root, 'dist'), { recursive: true })
  const folder = mkdtempSync(join(root, 'dist/test-'))
  const outdir = join(folder, 'dist')
  await build({
    absWorkingDir: root,
    entryPoints: entries,
    outdir,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    packages: 'external',
    logLevel: 'error',
    define: { __version__: '"1.2.3"' },
  })
  writeScript(outdir)
  writePages(join(folder, 'public'))
  return folder
}

const WORKER = {
  'sqlite-worker': 'src/gateway/sqlite/worker.ts',
  'report-worker': 'src/gateway/sqlite/reportWorker.ts',
}
export const COMMAND = { ...WORKER, shoptrail: 'src/gateway/cli.ts' }

/** Stand-ins for the scripts: real code, of which the gateway knows only that it is an expression. */
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
  for (const name of ['live', 'campaigns', 'shop']) {
    mkdirSync(join(folder, name), { recursive: true })
    writeFileSync(join(folder, name, 'index.html'), `<!doctype html><title>${name}</title>`)
    writeFileSync(join(folder, name, 'page.js'), 'export {}')
    writeFileSync(join(folder, name, 'cup.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>')
  }
  writeFileSync(join(folder, 'secret.txt'), 'outside')
}

/** A bundle of the worker, for what opens a log in this process. */
export async function bundleWorker(): Promise<{ workerFile: URL; end: () => void }> {
  const folder = await bundleGateway(WORKER)
  return {
    workerFile: pathToFileURL(join(folder, 'dist/sqlite-worker.js')),
    end: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** Everything a gateway in this process needs; `start` may be called again over the same data. */
export async function prepareGateway() {
  const folder = await bundleGateway(WORKER)
  const running = new Set<Gateway>()
  return {
    folder,
    async start(options: Partial<GatewayOptions> = {}): Promise<Gateway> {
      const gateway = await startGateway({
        dataDir: join(folder, 'data'),
        scriptFolder: join(folder, 'dist'),
        publicFolder: join(folder, 'public'),
        workerFile: pathToFileURL(join(folder, 'dist/sqlite-worker.js')),
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
  readonly said: () => string
  /** Sends a signal; resolves with the exit code when it has ended. */
  end(signal: NodeJS.Signals): Promise<number | null>
}

/**
 * @param folder Of `bundleGateway(COMMAND)`.
 * @param env Beside PORT 0 and DATA_DIR, a folder in `folder`.
 */
export async function startProcess(
  folder: string,
  env: Readonly<Record<string, string>> = {},
): Promise<GatewayProcess> {
  const child = spawn(process.execPath, [join(folder, 'dist/shoptrail.js'), 'start', '--demo'], {
    env: { PORT: '0', DATA_DIR: join(folder, 'data'), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  const url = await new Promise<string>((resolve, reject) => {
    const listen = (chunk: Buffer) => {
      said += chunk
      const found = /(http:\/\/localhost:\d+)\/shop\//.exec(said)?.[1]
      if (found) resolve(found)
    }
    child.stdout.on('data', listen)
    child.stderr.on('data', listen)
    child.once('exit', () => reject(new Error(`It ended: ${said}`)))
  })
  return {
    process: child,
    url,
    said: () => said,
    end: (signal) =>
      new Promise((resolve) => {
        child.once('exit', resolve)
        child.kill(signal)
      }),
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
