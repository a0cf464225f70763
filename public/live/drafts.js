/**
 * What an operator was writing, one draft a customer: it outlives a reload and a session that ends, in
 * this tab only, and goes when the operator signs out.
 */

const PREFIX = 'campaign.draft.'

export const keepDraft = (/** @type {string} */ customerId, values) =>
  atStorage((storage) => storage.setItem(PREFIX + customerId, JSON.stringify(values)))

export const dropDraft = (/** @type {string} */ customerId) =>
  atStorage((storage) => storage.removeItem(PREFIX + customerId))

/** @returns {Record<string, string>} Nothing where there is no draft. */
export const readDraft = (/** @type {string} */ customerId) =>
  atStorage((storage) => JSON.parse(storage.getItem(PREFIX + customerId) ?? '{}')) ?? {}

/** Every customer's: this tab may be somebody else's next. */
export const dropDrafts = () =>
  atStorage((storage) => {
    for (const name of Object.keys(storage)) if (name.startsWith(PREFIX)) storage.removeItem(name)
  })

/** A storage may be forbidden or full: then a draft lives as long as the page. */
function atStorage(act) {
  try {
    return act(sessionStorage)
  } catch {
    return undefined
  }
}
