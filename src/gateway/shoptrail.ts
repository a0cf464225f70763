// The command `shoptrail`, as a process.
import { runCommandLine } from './cli.ts'
import { runFollower } from './followMain.ts'
import { print, printError, writePieces } from './lib/printable.ts'
import { runGateway } from './main.ts'

const outcome = runCommandLine(process.argv.slice(2), process.env)
if (outcome.start) {
  if (outcome.warnings.length > 0) printError(outcome.warnings)
  try {
    process.exitCode = outcome.followOnly
      ? await runFollower(outcome.start, outcome.followOnly)
      : await runGateway(outcome.start)
  } catch (error) {
    printError([(error as Error).message])
    process.exitCode = 1
  }
} else if (outcome.work) {
  const { code, lines, errors = [] } = await outcome.work()
  if (lines.length > 0) print(lines)
  if (errors.length > 0) printError(errors)
  process.exitCode = code
} else if (outcome.pieces) {
  try {
    await writePieces(outcome.pieces, process.stdout)
  } catch (error) {
    printError([`The output is incomplete: ${(error as Error).message}`])
    process.exitCode = 1
  }
} else {
  if (outcome.stdout.length > 0) print(outcome.stdout)
  if (outcome.stderr.length > 0) printError(outcome.stderr)
  process.exitCode = outcome.code
}
