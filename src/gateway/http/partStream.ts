export type PartStreamOptions = {
  /** Makes the next part. Undefined after the last one. */
  readonly next: () => Promise<Uint8Array | undefined>
  /** Called once all is sent, the reader is gone, or a part could not be made; perhaps twice. */
  readonly onEnd: () => void
  /** Called with the reason why a part could not be made. Ends the connection: see RequestEnv. */
  readonly breakOff: (error: unknown) => void
}

/**
 * A long answer in parts. A part is made when the one before has been taken, so a slow reader keeps only one in memory.
 * An answer that can not be completed breaks off, so that nobody takes it for the whole.
 */
export const streamParts = ({
  next,
  onEnd,
  breakOff,
}: PartStreamOptions): ReadableStream<Uint8Array> =>
  new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const part = await next()
          if (part) return controller.enqueue(part)
          onEnd()
          controller.close()
        } catch (error) {
          onEnd()
          // Not `controller.error`: the library of the server would print the error to the console.
          breakOff(error)
        }
      },
      cancel: onEnd,
    },
    { highWaterMark: 0 },
  )
