import { DataMismatch } from './databasePair.ts'

/** How often it is tried again, ms. */
const RETRY_MS = 1_000

/** Something that is open, or waits to be. */
export type Opening<Opened> = {
  /** Undefined while it waits. */
  opened(): Opened | undefined
  /** Why it waits. */
  reason(): string
  /** Tries no more; resolves with what is open. */
  stop(): Promise<Opened | undefined>
}

/**
 * Opens what needs the databases. Where they are not those of the last start, it is tried again every second:
 * once they are put back or accepted, nobody has to start the gateway again.
 *
 * @param onChange Called when it is open after all.
 * @param onError Told of each new error that is no DataMismatch: it may name folders, so `reason` does not.
 * @throws What `open` throws, if that is no DataMismatch.
 */
export async function openOrWait<Opened>(
  open: () => Promise<Opened>,
  onChange: () => void,
  onError: (error: Error) => void,
): Promise<Opening<Opened>> {
  let opened: Opened | undefined
  let reason = ''
  let told = ''
  let isStopped = false
  let timer: NodeJS.Timeout | undefined
  let trying: Promise<void> | undefined

  try {
    opened = await open()
  } catch (error) {
    if (!(error instanceof DataMismatch)) throw error
    wait(error)
  }

  function wait(error: Error): void {
    const isMismatch = error instanceof DataMismatch
    reason = isMismatch ? error.message : 'The data can not be opened. The log says why'
    if (!isMismatch && error.message !== told) onError(error)
    told = error.message
    timer = setTimeout(() => {
      trying = tryAgain()
    }, RETRY_MS)
  }

  async function tryAgain(): Promise<void> {
    try {
      opened = await open()
      onChange()
    } catch (error) {
      // Whatever it is now, such as a file that is being copied: it may be mended too.
      if (!isStopped) wait(error as Error)
    }
  }

  return {
    opened: () => opened,
    reason: () => reason,
    async stop() {
      isStopped = true
      clearTimeout(timer)
      await trying
      return opened
    },
  }
}
