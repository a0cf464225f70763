import { describeClock, durationText } from './askGateway.ts'
import type { PageFacts } from './pageFacts.ts'

/** The most rows of the outbox that are shown. */
const MAX_ROWS = 30

export function PageState({
  facts,
  isAsking,
  json,
  flush,
  ask,
  reset,
  copy,
  copyJson,
}: {
  readonly facts: PageFacts
  /** Whether the panel asks before a reset. */
  readonly isAsking: boolean
  /** A text that could not be copied, to be copied by hand. */
  readonly json: string | undefined
  readonly flush: () => void
  readonly ask: (isAsking: boolean) => void
  readonly reset: () => void
  readonly copy: (text: string, what: string) => void
  readonly copyJson: () => void
}) {
  const { did, consent, consentState, keys, outbox, waiting, scriptVersion } = facts
  return (
    <>
      <div class="bar">
        {isAsking ? (
          <>
            <span class="note">
              A reset makes a new device id, and deletes the events that are not delivered, in all
              tabs of this shop.
            </span>
            <button type="button" class="bad" onClick={reset}>
              Reset
            </button>
            <button type="button" onClick={() => ask(false)}>
              Cancel
            </button>
          </>
        ) : (
          <>
            <button type="button" onClick={flush}>
              Flush
            </button>
            <button type="button" onClick={() => ask(true)}>
              Reset…
            </button>
            <button type="button" onClick={copyJson}>
              Copy as JSON
            </button>
          </>
        )}
      </div>
      <div class="pad">
        {json !== undefined && (
          <textarea readOnly aria-label="The state of the page as JSON" value={json} />
        )}
        <h3>Visitor</h3>
        <dl>
          <dt>did</dt>
          <dd>
            {did ? (
              <button
                type="button"
                class="place"
                title="Copy"
                onClick={() => copy(did, 'The device id')}
              >
                {did}
              </button>
            ) : (
              'none without consent'
            )}
          </dd>
          <dt>consent</dt>
          <dd>
            {consent?.title ?? `${consentState ?? 'nothing is recorded'}: this key does not ask`}
          </dd>
          {consent?.rows.map(([label, text]) => (
            <>
              <dt>{label}</dt>
              <dd>{text}</dd>
            </>
          ))}
        </dl>
        <h3>
          Outbox <span class="count">{outbox.length}</span>
        </h3>
        {waiting > 0 && <p>{waiting} more wait in memory for consent.</p>}
        {outbox.length > 0 ? (
          <table>
            <thead>
              <tr>
                <th>event</th>
                <th>age</th>
                <th>requests</th>
                {keys.length > 1 && <th>key</th>}
              </tr>
            </thead>
            <tbody>
              {outbox.slice(0, MAX_ROWS).map(({ event, ageMs, tries, key }, index) => (
                <tr key={index}>
                  <td>{event}</td>
                  <td>{durationText(ageMs)}</td>
                  <td>{tries || 'none on this page'}</td>
                  {keys.length > 1 && <td class="mono">{key}</td>}
                </tr>
              ))}
            </tbody>
          </table>
        ) : (
          <p class="note">Empty: everything is delivered.</p>
        )}
        {outbox.length > MAX_ROWS && <p class="note">and {outbox.length - MAX_ROWS} more</p>}
        {keys.map(({ key, base, settings, gateway }) => (
          <section key={key} aria-label={`Key ${key}`}>
            <h3>
              Key <code>{key}</code>
            </h3>
            <dl>
              <dt>gateway</dt>
              <dd>{base}</dd>
              <dt>clock</dt>
              <dd>
                {gateway
                  ? describeClock(gateway.clock)
                  : 'unknown: the gateway has not answered (connect-src of the page, or the network)'}
              </dd>
              <dt>versions</dt>
              <dd>
                script {scriptVersion}, gateway {gateway?.version ?? 'unknown'}
                {gateway?.version !== undefined &&
                  gateway.version !== scriptVersion &&
                  ': they differ, the script comes from a cache or is pinned'}
              </dd>
            </dl>
            {settings.length > 0 ? (
              <table>
                <thead>
                  <tr>
                    <th>setting</th>
                    <th>value</th>
                    <th>from</th>
                  </tr>
                </thead>
                <tbody>
                  {settings.map(({ name, value, from, overridden }) => (
                    <tr key={name}>
                      <td>{name}</td>
                      <td class="mono">{value}</td>
                      <td>
                        {from}
                        {overridden !== undefined && (
                          <>
                            {', the key says '}
                            <span class="mono">{overridden}</span>
                          </>
                        )}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            ) : (
              <p class="note">No settings: everything is as by default.</p>
            )}
          </section>
        ))}
      </div>
    </>
  )
}
