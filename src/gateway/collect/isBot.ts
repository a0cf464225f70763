import { isbot } from 'isbot'
import { LRUCache } from 'lru-cache'

/**
 * User agents above this length are rare. Only this much of them is checked, every time, and the result is not cached.
 */
const MAX_AGENT_LENGTH = 1_000
/** The visitors of a shop share a few hundred user agents. */
const MAX_CACHED_AGENTS = 1_000

/** isbot with a cache, since its regular expression is large. */
export function createIsBot(): (userAgent: string) => boolean {
  const cache = new LRUCache<string, boolean>({ max: MAX_CACHED_AGENTS })
  return (userAgent) => {
    if (userAgent.length > MAX_AGENT_LENGTH) return isbot(userAgent.slice(0, MAX_AGENT_LENGTH))
    const cached = cache.get(userAgent)
    if (cached !== undefined) return cached
    const isBot = isbot(userAgent)
    cache.set(userAgent, isBot)
    return isBot
  }
}
