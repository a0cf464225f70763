import type { Signal } from './signal.ts'

/** The part of `fetch` that the client uses. The runtime's `fetch` has this type. */
export type Fetch = (url: string, init: FetchInit) => Promise<FetchedAnswer>

export type FetchInit = {
  readonly method: 'GET' | 'POST'
  readonly headers: Record<string, string>
  readonly body?: string
  /** The client follows redirects itself, and only at the same origin, because the address contains keys. */
  readonly redirect: 'manual'
  readonly signal: Signal
}

/** The part of a Response that the client reads. */
export type FetchedAnswer = {
  readonly status: number
  readonly type?: string
  readonly redirected?: boolean
  readonly url?: string
  readonly headers: { get(name: string): string | null }
  readonly body?: ByteStream | null
  /** Called only if there is no `body`. */
  text(): Promise<string>
}

export type ByteStream = {
  getReader(): {
    read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>
    cancel(): Promise<void>
  }
}
