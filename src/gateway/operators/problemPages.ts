import type { Customers } from '../customers/customers.ts'
import { answerLarge, refuse, toJson } from '../http/answers.ts'
import type { Connected } from '../http/requestEnv.ts'
import type { ProblemRecorder } from '../problems/recorder.ts'
import type { Operators } from './operators.ts'

export type ProblemPageDependencies = {
  readonly customers: Pick<Customers, 'find'>
  readonly problems: Pick<ProblemRecorder, 'list'>
  readonly operators: Operators
}

/** The problems of a customer, for operators who may see it. */
export function createProblemPages({ customers, problems, operators }: ProblemPageDependencies) {
  /** GET /live/problems?customer=ID: a ProblemList. 401 without a sign-in, 403 for another customer. */
  return async function list(
    request: Request,
    peer: string,
    { env }: Connected<'reserve'>,
  ): Promise<Response> {
    const watched = operators.findWatched(request, peer)
    if (!watched.ok) return refuse(watched)
    const customer = customers.find(watched.customerId)
    if (!customer) return refuse({ status: 403, message: 'You may not see this customer' })
    return answerLarge(toJson(await problems.list(customer)), env.reserve)
  }
}
