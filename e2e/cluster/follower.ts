import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { keepOutput } from '../gatewaySoak/gateways.ts'

const PROGRAM = fileURLToPath(new URL('../../dist/shoptrail.js', import.meta.url))

/** A process that only follows the log. */
export type OwnFollower = {
  /** Resolves with the exit code when the process has ended. */
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null>
}

/** Starts `shoptrail follow`. It has begun to follow when the first partitions answer. */
export function startOwnFollower(
  dataDir: string,
  env: Readonly<Record<string, string>>,
  logFile: string,
): OwnFollower {
  const child = spawn(process.execPath, [PROGRAM, 'follow'], {
    env: { ...process.env, DATA_DIR: dataDir, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  keepOutput(child, logFile)
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  return {
    end(signal) {
      child.kill(signal)
      return ended
    },
  }
}
