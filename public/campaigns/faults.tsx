/** The faults of the form: those of each field, and a summary of all of them. */
import type { RefObject } from 'preact'
import { counted } from '../operator/numbers.ts'
import type { Issue } from '../operator/requests.ts'
import { FIELDS, type FieldPath, wordsOf } from './fields.ts'
import { missingOf, type Path, type Values } from './model.ts'

/** The errors of the last request to create a campaign. */
export type Faults = {
  readonly issues: readonly Issue[]
  /** An error that names no field, as a sentence; '' for none. */
  readonly otherwise: string
  /** The values that were sent. */
  readonly values: Values | undefined
}

export const NO_FAULTS: Faults = { issues: [], otherwise: '', values: undefined }

/** `scheduling.send_at` is one field of the contract and two values of the form. */
const fieldOf = (path: Path): FieldPath =>
  path === 'scheduling.date' || path === 'scheduling.time' ? 'scheduling.send_at' : path

/** The fault of a field: in the form's own words if it has some, else in the contract's. Undefined for none. */
export function faultOf({ issues, values }: Faults, path: FieldPath): string | undefined {
  const own = issues.filter((issue) => issue.path === path)
  if (own.length === 0) return undefined
  return (values && describeValue(path, values)) || own.map(({ message }) => message).join(' ')
}

/** The form's own, simpler words for the fault of a field; '' for none. */
function describeValue(path: FieldPath, values: Values): string {
  if (path === 'scheduling.send_at')
    return missingOf(values['scheduling.date'], values['scheduling.time'])
  return values[path].trim() === '' ? 'Please fill this in.' : ''
}

/** The faults without those of changed values, which are checked when the form is sent again. */
export function forgive(faults: Faults, paths: readonly Path[]): Faults {
  const changed = new Set<string>(paths.map(fieldOf))
  const issues = faults.issues.filter(({ path }) => !changed.has(path))
  return issues.length === faults.issues.length ? faults : { ...faults, issues }
}

export function FaultSummary({
  faults: { issues, otherwise, values },
  box,
}: {
  readonly faults: Faults
  readonly box: RefObject<HTMLDivElement | null>
}) {
  const names = [...FIELDS.values()]
    .filter(({ path }) => issues.some((issue) => issue.path === path))
    .map((field) => wordsOf(field, values?.type ?? 'email').label)
  const others = issues.filter(({ path }) => !FIELDS.has(path))
  return (
    <div ref={box} class="faults" tabIndex={-1} role="alert" data-test="faults">
      {names.length > 0 && (
        <>
          <p>
            {counted(names.length, 'field')} {names.length === 1 ? 'needs' : 'need'} another look.
            Nothing was created.
          </p>
          <p class="which">{names.join(' · ')}</p>
        </>
      )}
      {others.map(({ path, message }) => (
        <p>{path ? `${path}: ${message}` : message}</p>
      ))}
      {otherwise && <p>{otherwise}</p>}
    </div>
  )
}
