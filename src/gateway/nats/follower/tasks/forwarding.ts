import { dirname, join } from 'node:path'
import type { StateNews } from '../../../forward/stateNews.ts'
import { createSqliteForwarding, type ForwardingThread } from '../../../sqlite/forwarding.ts'
import type { StartTask } from '../task.ts'

/**
 * Forwards the events of the partition to the destinations of its customers, and answers for them. Destinations, their
 * positions and dead letters are mirrored, so that the follower which takes over continues there.
 *
 * @param onNews Called when a destination does not take events, and when it does so again.
 */
export const createForwardingTask =
  (onNews?: (news: StateNews) => void): StartTask =>
  async ({ copy, derived, customersFile, workerFile, onError }) => {
    const { forwardFile, eventsFile } = copy
    const report = (error: Error) => onError(error, 'the forwarding')
    // What the follower before has stored last must be here before anything is sent.
    await derived.catchUp()

    const open = (): ForwardingThread =>
      createSqliteForwarding({
        ...{ forwardFile, eventsFile, customersFile },
        // Beside the copies, which may be deleted and made again.
        folder: join(dirname(copy.folder), 'forward'),
        workerFile: new URL('./forward-worker.js', workerFile),
        onEnd: report,
        onError: report,
        ...(onNews && { onNews }),
      })
    let forwarding = open()
    let isStopped = false
    let restarting = Promise.resolve()
    /**
     * A follower that has lost the partition has stored something meanwhile, and what was done here may have been undone.
     * The thread has positions in memory, so it reads everything again.
     */
    const unwatch = derived.watchForward(() => {
      restarting = restarting.then(async () => {
        if (isStopped) return
        await forwarding.close()
        if (!isStopped) forwarding = open()
      })
    })

    /** A change is answered when it is in the cluster. */
    const stored =
      <Args extends unknown[], Result>(change: (...args: Args) => Promise<Result>) =>
      async (...args: Args): Promise<Result> => {
        const result = await change(...args)
        await derived.flush()
        return result
      }

    return {
      answers: {
        addDestination: stored((given) => forwarding.add(given)),
        listDestinations: (customer) => forwarding.list(customer),
        changeDestination: stored((customer, id, change) =>
          forwarding.change(customer, id, change),
        ),
        removeDestination: stored((customer, id) => forwarding.remove(customer, id)),
        letters: (customer, id, asked) => forwarding.letters(customer, id, asked),
        mendLetters: stored((customer, id, patch, filter) =>
          forwarding.mend(customer, id, patch, filter),
        ),
        replayLetters: stored((customer, id, filter) => forwarding.replay(customer, id, filter)),
        discardLetters: stored((customer, id, filter) => forwarding.discard(customer, id, filter)),
        forwardFigures: () => forwarding.figures(),
      },
      async stop() {
        isStopped = true
        unwatch()
        await restarting
        await forwarding.close()
        // So that the next follower repeats nothing. If the cluster is away, it repeats what was sent last.
        await derived.flush().catch(() => {})
      },
    }
  }
