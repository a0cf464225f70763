import type { Forwarding } from '../forward/forwarding.ts'
import { isNotAsked } from './ask.ts'
import { CONFLICT } from './mirror.ts'

/**
 * The error of a change without an answer: it may have been made, unless no follower was asked.
 *
 * @param advice What to do, a sentence.
 */
export function explainUnknown(error: unknown, advice: string): Error {
  const { message } = error as Error
  if (isNotAsked(error) || message === CONFLICT) return error as Error
  const what = `${message}. It is not known whether the change was made. ${advice}`
  return new Error(what, { cause: error })
}

/**
 * The destinations of one command, with errors that say whether its change was made, and what to do.
 *
 * @param look The command line that shows what was changed.
 */
export function withOutcomes(forwarding: Forwarding, look: string): Forwarding {
  let isMade = false

  const change =
    <
      Args extends readonly unknown[],
      Result extends { readonly ok: boolean } | boolean | undefined,
    >(
      run: (...args: Args) => Promise<Result>,
    ) =>
    async (...args: Args): Promise<Result> => {
      try {
        const result = await run(...args)
        isMade ||= typeof result === 'object' ? result.ok : result === true
        return result
      } catch (error) {
        throw explainUnknown(error, `Look before you repeat it: ${look}`)
      }
    }

  /** A command shows at its end what it has changed. */
  const show =
    <Args extends readonly unknown[], Result>(run: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      try {
        return await run(...args)
      } catch (error) {
        if (!isMade) throw error
        const what = `The change was made. What it is now can not be shown: ${(error as Error).message}`
        throw new Error(`${what}. Look later: ${look}`, { cause: error })
      }
    }

  return {
    add: change(forwarding.add),
    change: change(forwarding.change),
    remove: change(forwarding.remove),
    mend: change(forwarding.mend),
    replay: change(forwarding.replay),
    discard: change(forwarding.discard),
    list: show(forwarding.list),
    letters: show(forwarding.letters),
  }
}
