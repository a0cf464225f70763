/**
 * The web-standard classes the client uses; every runtime with fetch has them. What may be given in
 * their place (fetch, timers, randomness) is read from globalThis in settings.ts.
 */
declare class URL {
  constructor(url: string, base?: string)
  readonly href: string
  readonly origin: string
  readonly protocol: string
  readonly hostname: string
  readonly username: string
  readonly password: string
  readonly pathname: string
  readonly search: string
  readonly hash: string
}

interface AbortSignal {
  readonly aborted: boolean
  readonly reason: unknown
  addEventListener(type: 'abort', listener: () => void): void
  removeEventListener(type: 'abort', listener: () => void): void
}

declare class AbortController {
  readonly signal: AbortSignal
  abort(reason?: unknown): void
}

declare class TextDecoder {
  decode(bytes?: Uint8Array, options?: { readonly stream?: boolean }): string
}

/** Of text whose every unit is a byte. */
declare function btoa(bytes: string): string
