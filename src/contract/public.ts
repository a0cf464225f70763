// What `shoptrail/contract` exports.
export type * from './answers.ts'
export {
  ApiException,
  type ApiFailure,
  type Checked,
  CustomerNotFoundException,
  type Issue,
  MethodNotAllowedException,
  UnauthorizedException,
  ValidationException,
} from './errors.ts'
export { EVENT_NAMES } from './eventNames.ts'
export { validate } from './index.ts'
export type * from './payloads.ts'
export type { Coverage, Problem, ProblemList, ProblemReason } from './problems.ts'
