import { DOCTOR_PATH, type Seen } from './answerDoctor.ts'

/** What an address answers to a question of doctor. */
export type Asked =
  /** The gateway of the data folder. */
  | { readonly kind: 'gateway'; readonly seen: Seen; readonly date: number | undefined }
  /** Something else, or another gateway. */
  | {
      readonly kind: 'other'
      readonly status: number
      readonly location: string | undefined
      readonly server: string | undefined
      /** The message of a JSON error, as this gateway makes it. */
      readonly message: string | undefined
    }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string }

const TIMEOUT_MS = 5_000
const MAX_CHARACTERS = 4_096

/**
 * Asks whether the gateway of the data folder answers at an address, and how it sees the request.
 *
 * @param address Without a slash at its end.
 */
export async function askDoctor(
  address: string,
  nonce: string,
  timeoutMs = TIMEOUT_MS,
): Promise<Asked> {
  try {
    const response = await fetch(`${address}${DOCTOR_PATH}?nonce=${nonce}`, {
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    })
    const body = readJson(await readStart(response))
    const date = Date.parse(response.headers.get('date') ?? '')
    if (response.status === 200 && isSeen(body))
      return { kind: 'gateway', seen: body, date: Number.isNaN(date) ? undefined : date }
    return {
      kind: 'other',
      status: response.status,
      location: response.headers.get('location') ?? undefined,
      server: response.headers.get('server') ?? undefined,
      message: typeof body?.message === 'string' ? body.message : undefined,
    }
  } catch (error) {
    const { cause, name } = error as Error & { cause?: NodeJS.ErrnoException }
    if (name === 'TimeoutError') return { kind: 'failed', code: 'TIMEOUT', message: 'no answer' }
    const { code = '', message } = cause ?? (error as NodeJS.ErrnoException)
    return { kind: 'failed', code, message }
  }
}

/** The start of a body, which may have no end. */
async function readStart({ body }: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    if (text.length >= MAX_CHARACTERS) break
  }
  return text.slice(0, MAX_CHARACTERS)
}

function readJson(text: string): Record<string, unknown> | undefined {
  try {
    const value = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

const isSeen = (
  body: Record<string, unknown> | undefined,
): body is Record<string, unknown> & Seen =>
  typeof body?.peer === 'string' &&
  typeof body.visitor === 'string' &&
  typeof body.asked === 'string'
