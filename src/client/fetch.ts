import type { Signal } from './signal.ts'

/** What the client needs of a fetch. The runtime's own fits. */
export type Fetch = (url: string, init: FetchInit) => Promise<FetchedAnswer>

export type FetchInit = {
  readonly method: 'GET' | 'POST'
  readonly headers: Record<string, string>
  readonly body?: string
  /** The client follows redirects itself, only to where a key may go. */
  readonly redirect: 'manual'
  readonly signal: Signal
}

/** What the client reads of a Response. */
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
