import { parentPort, type Worker } from 'node:worker_threads'
import { Unavailable } from '../lib/unavailable.ts'

/** Functions that a worker serves. Arguments and results cross the threads as structured clones. */
type Functions<Served> = { readonly [Name in keyof Served]: (...args: never[]) => unknown } & {
  /** Called last, before the worker is terminated. */
  close(): unknown
}

/** Calls a function of a worker by its name. */
export type Call<Served extends Functions<Served>> = <Name extends keyof Served & string>(
  name: Name,
  ...args: Parameters<Served[Name]>
) => Promise<Awaited<ReturnType<Served[Name]>>>

/** The functions of a worker, called from another thread. */
export type Remote<Served extends Functions<Served>> = {
  /**
   * The worker starts calls in order. Rejects with Unavailable if the function throws (`cause` is an Error with its message),
   * if the call takes longer than the deadline, if the worker ends before it has answered, and after `close`.
   */
  readonly call: Call<Served>
  /** Resolves when the worker serves. Rejects with the worker's error if it ends before. */
  readonly ready: Promise<void>
  /** Why every call is rejected. Undefined if calls are accepted. */
  fault(): string | undefined
  /** Rejects every call from now on, with this message. */
  refuse(message: string): void
  /** Resolves when the calls before it are answered and the worker is terminated. */
  close(): Promise<void>
}

export type RemoteOptions<Served> = {
  /** The subject of error messages, such as "The event log". */
  readonly subject: string
  /** Deadline of a call, ms. */
  readonly deadlineMs: number
  /** Functions without a deadline. Default none. */
  readonly unlimited?: readonly (keyof Served)[]
  /** The parts of arguments that move to the worker instead of being copied. Default none. */
  readonly moved?: (name: keyof Served, args: readonly unknown[]) => ArrayBuffer[]
  /**
   * Called once if the worker ends after it was ready and without `close`, after the calls that it has not answered
   * were rejected.
   */
  readonly onEnd: (error: Error) => void
}

/** Why a function of the worker has thrown. */
export type Failure = {
  readonly message: string
  /** Whether every later call would fail too, as with a damaged file. Then the message names the remedy. */
  readonly isFinal: boolean
}

type Request = { readonly id: number; readonly name: string; readonly args: readonly unknown[] }
/** The id is that of the request. The first message of a worker has the id 0 and means that it serves. */
type Reply =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly failure: Failure }

type Pending = {
  // The result of the function. `call` gives it its type.
  readonly resolve: (value: never) => void
  readonly reject: (error: Error) => void
  readonly timer: NodeJS.Timeout | undefined
}

/** Retry-After, seconds. */
const RETRY_SECONDS = 5

/**
 * Calls the functions of a worker that has called `serve`.
 *
 * @typeParam Served Type of the object that the worker serves.
 */
export function remote<Served extends Functions<Served>>(
  worker: Worker,
  { subject, deadlineMs, unlimited = [], moved = () => [], onEnd }: RemoteOptions<Served>,
): Remote<Served> {
  const pending = new Map<number, Pending>()
  let lastId = 0
  let isRunning = true
  let fault: string | undefined
  let closing: Promise<void> | undefined

  const ready = new Promise<void>((resolve, reject) =>
    pending.set(0, { resolve, reject, timer: undefined }),
  )

  worker.on('message', (reply: Reply) => {
    const call = take(reply.id)
    if (!('failure' in reply)) return call?.resolve(reply.value as never)
    const { message, isFinal } = reply.failure
    if (isFinal) fault ??= message
    call?.reject(
      unavailable(
        isFinal ? message : `${subject} can not be read or written`,
        // The log prints only a cause that is an Error.
        new Error(message),
      ),
    )
  })
  worker.on('error', (error) => end(error instanceof Error ? error : new Error(String(error))))
  worker.on('exit', (code) => end(new Error(`The thread has ended with code ${code}`)))

  function take(id: number): Pending | undefined {
    const call = pending.get(id)
    pending.delete(id)
    clearTimeout(call?.timer)
    return call
  }

  function end(error: Error): void {
    if (!isRunning) return
    isRunning = false
    fault ??= error.message
    const start = take(0)
    const lost = unavailable(`${subject} stopped before the answer`, error)
    for (const id of [...pending.keys()]) take(id)?.reject(lost)
    if (start) start.reject(error)
    else if (!closing) onEnd(error)
  }

  const send: Call<Served> = (name, ...args) => {
    lastId++
    const id = lastId
    return new Promise((resolve, reject) => {
      const giveUp = () => take(id)?.reject(unavailable(`${subject} answers too slowly`))
      const timer = unlimited.includes(name) ? undefined : setTimeout(giveUp, deadlineMs)
      pending.set(id, { resolve, reject, timer })
      worker.postMessage({ id, name, args } satisfies Request, moved(name, args))
    })
  }

  async function close(): Promise<void> {
    // A store whose close fails loses nothing: the next open repairs it.
    if (isRunning) await send('close', ...([] as never)).catch(() => {})
    await worker.terminate()
  }

  const findFault = () => fault ?? (closing ? `${subject} is closed` : undefined)
  return {
    call(name, ...args) {
      const reason = findFault()
      return reason === undefined ? send(name, ...args) : Promise.reject(unavailable(reason))
    },
    ready,
    fault: findFault,
    refuse(message) {
      fault ??= message
    },
    close() {
      closing ??= close()
      return closing
    },
  }
}

const unavailable = (message: string, cause?: unknown): Unavailable =>
  new Unavailable(message, RETRY_SECONDS, cause)

export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)

/**
 * Serves functions to the thread that has started this worker.
 *
 * @param explain Describes an error that a function has thrown. Default: its message, and not final.
 */
export function serve<Served extends Functions<Served>>(
  functions: Served,
  explain = (error: unknown): Failure => ({ message: messageOf(error), isFinal: false }),
): void {
  const answer = async ({ id, name, args }: Request): Promise<Reply> => {
    try {
      const run = functions[name as keyof Served]
      return { id, value: await run(...(args as never[])) }
    } catch (error) {
      return { id, failure: explain(error) }
    }
  }
  parentPort?.on('message', async (request: Request) =>
    parentPort?.postMessage(await answer(request)),
  )
  parentPort?.postMessage({ id: 0, value: undefined } satisfies Reply)
}
