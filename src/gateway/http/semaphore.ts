/** How many places there are, and who may wait for one. One owner has at most half of both. */
export type PlaceLimits = {
  /** Places, all owners together. */
  readonly max: number
  /** How many may wait, all owners together. */
  readonly maxWaiting: number
  /** Who waits longer than this is told to come again, ms. */
  readonly waitMs: number
  /** What is said then. */
  readonly message: string
}

/** What is wanted of the places. */
export type Wanted = {
  /** How many places, 1 when not said and at least; more than an owner may have are as many as it may have. */
  readonly weight?: number
  /** Waits as long as it takes, beside the bounds: for who is counted elsewhere. Default false. */
  readonly isPatient?: boolean
}

/** Places for what takes memory or time, each owner's in order, the owners in turn. */
export type Places = {
  /**
   * Resolves with what gives the places back (once, however often it is called); rejects with TooMany
   * where too many wait, or after a while. Nothing was begun then.
   *
   * @param owner Whose they are: a customer's id.
   */
  take(owner: string, wanted?: Wanted): Promise<() => void>
}

/** Too much at once: the same may be sent again, for it was not begun. The answer is 429. */
export class TooMany extends Error {
  override readonly name = 'TooMany'
  /** When to try again, seconds. */
  readonly retryAfterSeconds = 1
}

type Waiting = { readonly weight: number; readonly begin: () => void }
type Owner = { taken: number; waiting: Waiting[] }

export function createPlaces({ max, maxWaiting, waitMs, message }: PlaceLimits): Places {
  const maxOfOne = Math.ceil(max / 2)
  const maxWaitingOfOne = Math.ceil(maxWaiting / 2)
  /** Who has or wants a place; the one that was served last is the last. */
  const owners = new Map<string, Owner>()
  let taken = 0
  let waiting = 0

  function serve(): void {
    for (const [name, owner] of owners) {
      const [next] = owner.waiting
      if (!next || owner.taken + next.weight > maxOfOne) continue
      // Whoever wants less may not pass by: who wants much would never come in.
      if (taken + next.weight > max) return
      owner.waiting.shift()
      waiting--
      taken += next.weight
      owner.taken += next.weight
      owners.delete(name)
      owners.set(name, owner)
      next.begin()
    }
  }

  function giveBack(name: string, owner: Owner, weight: number): void {
    taken -= weight
    owner.taken -= weight
    forgetIdle(name, owner)
    serve()
  }

  function forgetIdle(name: string, owner: Owner): void {
    if (owner.taken === 0 && owner.waiting.length === 0) owners.delete(name)
  }

  return {
    async take(name, { weight: wanted = 1, isPatient = false } = {}) {
      const owner = owners.get(name) ?? { taken: 0, waiting: [] }
      const isFull = waiting >= maxWaiting || owner.waiting.length >= maxWaitingOfOne
      if (isFull && !isPatient) throw new TooMany(message)
      owners.set(name, owner)
      const weight = Math.min(Math.max(wanted, 1), maxOfOne)
      await new Promise<void>((resolve, reject) => {
        let hasBegun = false
        let late: NodeJS.Timeout | undefined
        const mine: Waiting = {
          weight,
          begin() {
            hasBegun = true
            clearTimeout(late)
            resolve()
          },
        }
        owner.waiting.push(mine)
        waiting++
        serve()
        if (hasBegun || isPatient) return
        late = setTimeout(() => {
          owner.waiting.splice(owner.waiting.indexOf(mine), 1)
          waiting--
          forgetIdle(name, owner)
          reject(new TooMany(message))
          // It may have been the one that stood in the way.
          serve()
        }, waitMs)
      })
      let isGivenBack = false
      return () => {
        if (!isGivenBack) giveBack(name, owner, weight)
        isGivenBack = true
      }
    },
  }
}
