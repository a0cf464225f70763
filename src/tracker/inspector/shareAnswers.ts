/**
 * A `fetch` that requests each address once: several parts of the inspector read the settings of the same key.
 *
 * @param get `fetch`. Called with what the first caller has passed.
 */
export function shareAnswers(get: typeof fetch): typeof fetch {
  const asked = new Map<string, Promise<Response>>()
  return (address, options) => {
    const name = `${address}`
    const answer = asked.get(name) ?? get(address, options)
    asked.set(name, answer)
    return answer.then((response) => response.clone())
  }
}
