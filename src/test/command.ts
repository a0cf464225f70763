import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { runCommandLine } from '../gateway/cli.ts'
import { printedText } from '../gateway/lib/printable.ts'

/** The result of a command: its exit code and what it printed. */
export type CommandResult = {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

type Env = Readonly<Record<string, string>>

/** Runs a command line in this process, which takes milliseconds. For `start`, use runProcess. */
export function runCommand(args: readonly string[], env: Env): CommandResult {
  const outcome = runCommandLine(args, env)
  if (outcome.start) throw new Error(`${args.join(' ')} starts a gateway`)
  if (outcome.work) throw new Error(`${args.join(' ')} takes a while`)
  if (outcome.pieces) return { status: 0, stdout: [...outcome.pieces].join(''), stderr: '' }
  const text = (lines: readonly string[]) => (lines.length > 0 ? `${printedText(lines)}\n` : '')
  return { status: outcome.code, stdout: text(outcome.stdout), stderr: text(outcome.stderr) }
}

/**
 * Runs a command line as a process, until it ends.
 *
 * @param folder The folder that `layOutGateway` has returned.
 */
export function runProcess(folder: string, args: readonly string[], env: Env): CommandResult {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(folder, 'dist/shoptrail.js'), ...args],
    // By default Node cuts the output after 1 MiB.
    { env, encoding: 'utf8', maxBuffer: Number.POSITIVE_INFINITY },
  )
  return { status, stdout, stderr }
}
