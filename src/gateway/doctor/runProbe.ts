import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Why a probe has no result: it took too long, or the message and the code of its error. */
export type ProbeFailure =
  | { readonly late: true; readonly failed?: never }
  | { readonly late?: never; readonly failed: string; readonly code?: string }

/**
 * Runs the bundle of probe.ts as a process of its own, since locks of POSIX are per process, and SQLite in this process
 * could not be interrupted.
 */
export const runProbe = <Result>(
  probeFile: URL,
  args: readonly string[],
  timeoutMs: number,
): Promise<Result | ProbeFailure> =>
  new Promise((resolve) => {
    const options = { timeout: timeoutMs, killSignal: 'SIGKILL' } as const
    execFile(
      process.execPath,
      [fileURLToPath(probeFile), ...args],
      options,
      (error, stdout, stderr) => {
        if (error?.killed) resolve({ late: true })
        else if (error) resolve({ failed: stderr.trim().split('\n').at(-1) || error.message })
        else resolve(JSON.parse(stdout))
      },
    )
  })
