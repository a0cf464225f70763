import { type DoctorFinding, error, type Found } from './finding.ts'

/**
 * Collects what checks find.
 *
 * @param fix What to do if a check fails for an unexpected reason.
 */
export function createList(fix = 'Run doctor as the user of the gateway') {
  const findings: DoctorFinding[] = []
  return {
    findings,
    /** Adds what a check finds. One that fails is an error, so that the others still run. False after an error. */
    async add(check: string, run: () => readonly Found[] | Promise<readonly Found[]>) {
      const found = await attempt(run, fix)
      findings.push(...found.map((one) => ({ check, ...one })))
      return !found.some(({ level }) => level === 'error')
    },
  }
}

async function attempt(run: () => readonly Found[] | Promise<readonly Found[]>, fix: string) {
  try {
    return await run()
  } catch (failure) {
    return [error(`This could not be checked: ${(failure as Error).message}`, fix)]
  }
}
