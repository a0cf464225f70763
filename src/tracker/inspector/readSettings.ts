/** Those of a key's settings that the inspector asks for. */
export type Settings = {
  readonly ga4?: unknown
  readonly attributes?: boolean
  readonly global?: string
}

/** The script's tag, of several keys the first one's; none where the script came in another way. */
export const tagOf = (page: Window): HTMLScriptElement | null =>
  page.document.querySelector('script[src*="/t/j/"]')

/**
 * The key's settings as the gateway serves them, without what the tag says; none where the page's policy
 * or the network is in the way.
 */
export async function readSettings(page: Window, get: typeof fetch): Promise<Settings | undefined> {
  const tag = tagOf(page)
  if (!tag) return
  try {
    const headers = { accept: 'application/json' }
    return (await (await get(tag.src, { headers, credentials: 'omit' })).json()).config
  } catch {
    // Nobody knows, so nothing is said.
    return
  }
}
