import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { fileURLToPath } from 'node:url'

const PROGRAM = fileURLToPath(new URL('../../dist/shoptrail.js', import.meta.url))

type Env = Readonly<Record<string, string>>

/** A gateway in a process of its own. */
export type OwnGateway = {
  readonly url: string
  readonly metricsUrl: string
  readonly pid: number
  /** Resolves with the exit code when the process has ended. */
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null>
}

/**
 * Starts a gateway. Resolves when it listens.
 *
 * @param logFile Gets its output too. Default none.
 * @throws Error with its output, if it ends before.
 */
export async function startOwnGateway(
  dataDir: string,
  env: Env = {},
  logFile?: string,
): Promise<OwnGateway> {
  const child: ChildProcess = spawn(process.execPath, [PROGRAM, 'start'], {
    env: { ...process.env, PORT: '0', METRICS_PORT: '0', DEMO: 'off', DATA_DIR: dataDir, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  if (logFile) keepOutput(child, logFile)
  let output = ''
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const { url, metricsUrl } = await new Promise<Addresses>((resolve, reject) => {
    const read = (chunk: Buffer) => {
      // Only what comes before the lines about listening is needed.
      if (output.length < 100_000) output += chunk
      const addresses = findAddresses(output)
      if (addresses) resolve(addresses)
    }
    child.stdout?.on('data', read)
    child.stderr?.on('data', read)
    ended.then(() => reject(new Error(`The gateway ended: ${output}`)))
  })
  return {
    url,
    metricsUrl,
    pid: child.pid ?? 0,
    end(signal) {
      child.kill(signal)
      return ended
    },
  }
}

/** Appends what a process prints to a file. */
export function keepOutput(child: ChildProcess, logFile: string): void {
  const file = createWriteStream(logFile, { flags: 'a' })
  for (const output of [child.stdout, child.stderr]) output?.pipe(file, { end: false })
  child.once('close', () => file.end())
}

type Addresses = Pick<OwnGateway, 'url' | 'metricsUrl'>

/** Reads the log line about listening, or the text that a gateway with the demo prints. */
function findAddresses(output: string): Addresses | undefined {
  const line = /^.*"metricsUrl".*$/m.exec(output)?.[0]
  if (line) return JSON.parse(line)
  const [, port] = /^ {2}Demo shop {4}http:\/\/localhost:(\d+)\//m.exec(output) ?? []
  const [, metricsUrl] = /^ {2}Metrics {6}(\S+)$/m.exec(output) ?? []
  return port && metricsUrl ? { url: `http://127.0.0.1:${port}`, metricsUrl } : undefined
}

/**
 * Runs the command line.
 *
 * @returns What it has printed. Rejects with it if the command fails.
 */
export function runCommand(
  dataDir: string,
  args: readonly string[],
  env: Env = {},
): Promise<string> {
  const options = { env: { ...process.env, DATA_DIR: dataDir, ...env } }
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [PROGRAM, ...args], options, (error, stdout, stderr) => {
      if (error) reject(new Error(`shoptrail ${args.join(' ')}: ${stdout}${stderr}`))
      else resolve(stdout)
    })
  })
}
