import { type ChildProcess, execFile, spawn } from 'node:child_process'
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
 * @throws Error with its output, if it ends before.
 */
export async function startOwnGateway(dataDir: string, env: Env = {}): Promise<OwnGateway> {
  const child: ChildProcess = spawn(process.execPath, [PROGRAM, 'start'], {
    env: { ...process.env, PORT: '0', METRICS_PORT: '0', DEMO: 'off', DATA_DIR: dataDir, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const listening = await new Promise<string>((resolve, reject) => {
    const read = (chunk: Buffer) => {
      // Only what comes before the first line about listening is needed.
      if (output.length < 100_000) output += chunk
      const line = /^.*"metricsUrl".*$/m.exec(output)?.[0]
      if (line) resolve(line)
    }
    child.stdout?.on('data', read)
    child.stderr?.on('data', read)
    ended.then(() => reject(new Error(`The gateway ended: ${output}`)))
  })
  const { url, metricsUrl } = JSON.parse(listening)
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
