/**
 * Drafts of the campaign form, one per customer, in this tab only. A draft survives a reload and the end of the
 * session; it is removed when the operator signs out.
 */

const PREFIX = 'campaign.draft.'

export const keepDraft = (customerId: string, values: Readonly<Record<string, string>>) =>
  atStorage((storage) => storage.setItem(PREFIX + customerId, JSON.stringify(values)))

export const dropDraft = (customerId: string) =>
  atStorage((storage) => storage.removeItem(PREFIX + customerId))

/** @returns The draft; an empty object if there is none. */
export const readDraft = (customerId: string): Record<string, string> =>
  atStorage((storage) => JSON.parse(storage.getItem(PREFIX + customerId) ?? '{}')) ?? {}

/** Removes the drafts of every customer: another person may use this tab next. */
export const dropDrafts = () =>
  atStorage((storage) => {
    for (const name of Object.keys(storage)) if (name.startsWith(PREFIX)) storage.removeItem(name)
  })

/** If storage is blocked or full, nothing is kept, and the form loses its values on a reload. */
function atStorage<T>(act: (storage: Storage) => T): T | undefined {
  try {
    return act(sessionStorage)
  } catch {
    return undefined
  }
}
