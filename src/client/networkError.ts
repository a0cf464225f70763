/** Codes of Node and Bun for failed connections and refused certificates: no request has been sent then. */
const NEVER_CONNECTED =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|UND_ERR_CONNECT_TIMEOUT|ConnectionRefused|CERT_.*|ERR_TLS_CERT_.*|UNABLE_TO_.*|SELF_SIGNED_.*|DEPTH_ZERO_.*)$/
/** Deno's errors have no code. This is part of their message if the connection failed. */
const DENO_WORDS = 'client error (Connect)'
/** The form of names and codes. Any other text may contain an address. */
const NAME = /^\w{1,40}$/
/** How many causes of causes are read. */
const MAX_DEPTH = 8

type Fields = {
  readonly [Field in 'name' | 'code' | 'syscall' | 'message' | 'cause' | 'errors']?: unknown
}

/**
 * Whether a fetch failed before a connection was made, so that nothing can have been sent. Decided by the
 * error, its causes, and, if several addresses were tried, by the errors of all of them.
 */
export function wasNeverConnected(error: unknown, depth = 0): boolean {
  if (depth > MAX_DEPTH) return false
  const { code, syscall, message, cause, errors } = fieldsOf(error)
  if (Array.isArray(errors) && errors.length)
    return errors.every((each) => wasNeverConnected(each, depth + 1))
  return (
    (typeof code === 'string' && NEVER_CONNECTED.test(code)) ||
    syscall === 'connect' ||
    syscall === 'getaddrinfo' ||
    (typeof message === 'string' && message.includes(DENO_WORDS)) ||
    (cause !== undefined && wasNeverConnected(cause, depth + 1))
  )
}

/**
 * A copy of a fetch's error with its name, its code and its causes. Messages, stacks and other fields are left out,
 * since they may contain the address of the request and so the keys.
 */
export function toCause(error: unknown, depth = 0): Error {
  const { name, code, cause } = fieldsOf(error)
  const inner = cause !== undefined && depth < MAX_DEPTH ? toCause(cause, depth + 1) : undefined
  const own = isName(code) ? { code } : {}
  const copy = new Error(own.code ?? inner?.message, inner && { cause: inner })
  return Object.assign(copy, own, isName(name) && { name })
}

const isName = (text: unknown): text is string => typeof text === 'string' && NAME.test(text)

function fieldsOf(error: unknown): Fields {
  try {
    const { name, code, syscall, message, cause, errors }: Fields = Object(error)
    return { name, code, syscall, message, cause, errors }
  } catch {
    // A proxy or a getter that throws.
    return {}
  }
}
