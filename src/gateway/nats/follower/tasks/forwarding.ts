import { dirname, join } from 'node:path'
import type { Forwarding } from '../../../forward/forwarding.ts'
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

    async function ask<Name extends keyof Forwarding>(
      name: Name,
      args: Parameters<Forwarding[Name]>,
    ): Promise<Awaited<ReturnType<Forwarding[Name]>>> {
      await restarting
      const run = forwarding[name] as (...args: readonly unknown[]) => Promise<never>
      return run(...args)
    }

    /** A change is answered when it is in the cluster. */
    async function change<Name extends keyof Forwarding>(
      name: Name,
      args: Parameters<Forwarding[Name]>,
    ): Promise<Awaited<ReturnType<Forwarding[Name]>>> {
      const result = await ask(name, args)
      await derived.flush()
      return result
    }

    return {
      answers: {
        addDestination: (...args) => change('add', args),
        listDestinations: (...args) => ask('list', args),
        changeDestination: (...args) => change('change', args),
        removeDestination: (...args) => change('remove', args),
        letters: (...args) => ask('letters', args),
        mendLetters: (...args) => change('mend', args),
        replayLetters: (...args) => change('replay', args),
        discardLetters: (...args) => change('discard', args),
        forwardFigures: async () => {
          await restarting
          return forwarding.figures()
        },
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
