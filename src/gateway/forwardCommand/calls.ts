import type { Forwarding } from '../forward/forwarding.ts'
import type { Destinations } from '../sqlite/destinations.ts'

/** A call of a function of Forwarding, whose result comes back from the `yield`. */
export type Call = { readonly name: keyof Forwarding; readonly args: readonly unknown[] }

/** A command: the same with destinations in a file, which answer at once, and with those of a cluster. */
export type Calling<Result> = Generator<Call, Result, unknown>

export function* call<Name extends keyof Forwarding>(
  name: Name,
  ...args: Parameters<Forwarding[Name]>
): Calling<Awaited<ReturnType<Forwarding[Name]>>> {
  return (yield { name, args }) as Awaited<ReturnType<Forwarding[Name]>>
}

/** Carries out a command with destinations in a file. */
export function runNow<Result>(command: Calling<Result>, destinations: Destinations): Result {
  let step = command.next()
  while (!step.done) {
    const { name, args } = step.value
    const run = destinations[name] as (...args: readonly unknown[]) => unknown
    step = command.next(run(...args))
  }
  return step.value
}

/** Carries out a command with destinations elsewhere. */
export async function runLater<Result>(
  command: Calling<Result>,
  forwarding: Forwarding,
): Promise<Result> {
  let step = command.next()
  while (!step.done) {
    const { name, args } = step.value
    const run = forwarding[name] as (...args: readonly unknown[]) => Promise<unknown>
    step = command.next(await run(...args))
  }
  return step.value
}
