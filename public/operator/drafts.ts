/**
 * The form that an operator has begun, one draft a customer. A draft outlives a reload and the end of a session, in
 * this tab only, and is removed when the operator signs out.
 */

const PREFIX = 'campaign.draft.'

export const keepDraft = (customerId: string, values: Readonly<Record<string, string>>) =>
  atStorage((storage) => storage.setItem(PREFIX + customerId, JSON.stringify(values)))

export const dropDraft = (customerId: string) =>
  atStorage((storage) => storage.removeItem(PREFIX + customerId))

/** An empty object where there is no draft. */
export const readDraft = (customerId: string): Record<string, string> =>
  atStorage((storage) => JSON.parse(storage.getItem(PREFIX + customerId) ?? '{}')) ?? {}

/** Drops the drafts of every customer: the next user of this tab may be somebody else. */
export const dropDrafts = () =>
  atStorage((storage) => {
    for (const name of Object.keys(storage)) if (name.startsWith(PREFIX)) storage.removeItem(name)
  })

/** Where storage is forbidden or full, a draft lives as long as the page. */
function atStorage<T>(act: (storage: Storage) => T): T | undefined {
  try {
    return act(sessionStorage)
  } catch {
    return undefined
  }
}
