/** Limits of a semaphore. One owner gets at most half of the places in the queue. */
export type SemaphoreLimits = {
  /** Permits of all owners together. */
  readonly permits: number
  /** Permits of one owner. Default: half. */
  readonly permitsOfOne?: number
  /** Callers that may wait, of all owners together. Default: no limit. */
  readonly maxWaiting?: number
  /** How long a caller waits, ms. Default: no limit. */
  readonly waitMs?: number
  /** Message of TooMany. */
  readonly message: string
}

/** Limits how much expensive work runs at once. Owners take turns, and the callers of one owner are served in order. */
export type Semaphore = {
  /**
   * Waits for a permit. Rejects with TooMany if too many callers wait, or after `waitMs`.
   *
   * @param owner Id of a customer.
   * @returns Gives the permit back. Only the first call has an effect.
   */
  acquire(owner: string): Promise<() => void>
}

/** Too many requests at once. This request was not begun, so it may be sent again. It is answered 429. */
export class TooMany extends Error {
  override readonly name = 'TooMany'
  /** When to try again, seconds. */
  readonly retryAfterSeconds = 1
}

type Owner = {
  held: number
  /** Each starts a caller that waits. */
  waiting: (() => void)[]
}

export function createSemaphore(limits: SemaphoreLimits): Semaphore {
  const { permits, message } = limits
  const { maxWaiting = Number.POSITIVE_INFINITY, waitMs = Number.POSITIVE_INFINITY } = limits
  const { permitsOfOne = Math.ceil(permits / 2) } = limits
  const maxWaitingOfOne = Math.ceil(maxWaiting / 2)
  /** Owners that hold or wait for a permit. The owner that was served last is at the end. */
  const owners = new Map<string, Owner>()
  let held = 0
  let waiting = 0

  function serve(): void {
    for (const [name, owner] of owners) {
      if (held >= permits) return
      if (owner.held >= permitsOfOne) continue
      const start = owner.waiting.shift()
      if (!start) continue
      waiting--
      held++
      owner.held++
      owners.delete(name)
      owners.set(name, owner)
      start()
    }
  }

  function forgetIdle(name: string, owner: Owner): void {
    if (owner.held === 0 && owner.waiting.length === 0) owners.delete(name)
  }

  function waitForPermit(name: string, owner: Owner): Promise<void> {
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined
      const start = () => {
        clearTimeout(timer)
        resolve()
      }
      function giveUp(): void {
        owner.waiting.splice(owner.waiting.indexOf(start), 1)
        waiting--
        forgetIdle(name, owner)
        reject(new TooMany(message))
      }
      owner.waiting.push(start)
      waiting++
      serve()
      if (owner.waiting.includes(start) && Number.isFinite(waitMs))
        timer = setTimeout(giveUp, waitMs)
    })
  }

  return {
    async acquire(name) {
      const owner = owners.get(name) ?? { held: 0, waiting: [] }
      if (waiting >= maxWaiting || owner.waiting.length >= maxWaitingOfOne)
        throw new TooMany(message)
      owners.set(name, owner)
      await waitForPermit(name, owner)
      let isReleased = false
      return () => {
        if (isReleased) return
        isReleased = true
        held--
        owner.held--
        forgetIdle(name, owner)
        serve()
      }
    },
  }
}
