export type PartStreamOptions = {
  /** Makes the next part. Undefined after the last one. */
  readonly next: () => Promise<Uint8Array | undefined>
  /** Called once all is sent, the reader is gone, or a part could not be made. May be called twice. */
  readonly onEnd: () => void
  /** Called with the reason why a part could not be made. Ends the connection: see RequestEnv. */
  readonly breakOff: (error: unknown) => void
}

/**
 * A long answer in parts. A part is made when the one before has been taken, so a slow reader keeps only one in memory.
 * An answer that can not be completed ends with its connection, so that the reader knows that it is not complete.
 */
export function streamParts({
  next,
  onEnd,
  breakOff,
}: PartStreamOptions): ReadableStream<Uint8Array> {
  let isReaderGone = false
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const part = await next()
          // Nothing can be given to a stream that was cancelled meanwhile.
          if (isReaderGone) return
          if (part) return controller.enqueue(part)
          onEnd()
          controller.close()
        } catch (error) {
          // `onEnd` may have ended what the part is made from.
          if (isReaderGone) return
          onEnd()
          // Not `controller.error`: the library of the server would print the error to the console.
          breakOff(error)
        }
      },
      cancel() {
        isReaderGone = true
        onEnd()
      },
    },
    { highWaterMark: 0 },
  )
}
