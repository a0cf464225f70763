/** Codes of errors before a connection was there, by Node (fetch and sockets), Deno and Bun. */
const NEVER_CONNECTED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
  'ConnectionRefused',
])
/** Codes of a certificate that was refused: then no request has left either. */
const BAD_CERTIFICATE = /^(CERT_|ERR_TLS_CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_)/
/** Deno has no codes, and says it in words. */
const DENO_WORDS = 'client error (Connect)'
/** Causes of causes that are looked at. */
const MAX_DEPTH = 8

type NetworkError = {
  readonly code?: unknown
  readonly syscall?: unknown
  readonly message?: unknown
  readonly cause?: unknown
  readonly errors?: unknown
}

/**
 * Whether a fetch failed before a connection was made, so that nothing can have been sent. Told by the
 * error, its causes, and, where several addresses were tried, every one of their errors.
 */
export function wasNeverConnected(error: unknown): boolean {
  try {
    return tellsIt(error, 0)
  } catch {
    // An error that can not be read tells nothing.
    return false
  }
}

function tellsIt(error: unknown, depth: number): boolean {
  if (depth > MAX_DEPTH) return false
  const { code, syscall, message, cause, errors }: NetworkError = Object(error)
  if (Array.isArray(errors) && errors.length)
    return errors.every((each) => tellsIt(each, depth + 1))
  if (typeof code === 'string' && (NEVER_CONNECTED.has(code) || BAD_CERTIFICATE.test(code)))
    return true
  if (syscall === 'connect' || syscall === 'getaddrinfo') return true
  if (typeof message === 'string' && message.includes(DENO_WORDS)) return true
  return cause !== undefined && tellsIt(cause, depth + 1)
}
