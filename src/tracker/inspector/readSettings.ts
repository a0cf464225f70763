import type { KeySettings } from '../../contract/settings.ts'

/** The script's tag, that of the first key. Null if the script was loaded in another way. */
export const tagOf = (page: Window): HTMLScriptElement | null =>
  page.document.querySelector('script[src*="/t/j/"]')

/** The key's settings as the gateway serves them, without those of the tag. Undefined if they can not be fetched. */
export async function readSettings(
  page: Window,
  get: typeof fetch,
): Promise<KeySettings | undefined> {
  const tag = tagOf(page)
  if (!tag) return
  try {
    const headers = { accept: 'application/json' }
    return (await (await get(tag.src, { headers, credentials: 'omit' })).json()).config
  } catch {
    // The page's policy or the network prevents it.
    return
  }
}
