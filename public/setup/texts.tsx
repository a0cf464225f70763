/** What to paste into the shop: the tag, the stub, the lines of a Content-Security-Policy, the source of consent. */
import type { SetupTexts } from '../../src/contract/setup.ts'
import { Paste } from './paste.tsx'

export function NotAllowed({ origin }: Pick<SetupTexts, 'origin'>) {
  if (!origin.command) return null
  return (
    <div class="trouble" role="status" data-test="not-allowed">
      <p>
        Pages of <b>{origin.origin}</b> may not send events for this customer yet. If it is the
        customer’s shop, allow it where the gateway runs:
      </p>
      <Paste text={origin.command} test="allow-command" />
    </div>
  )
}

export function Tag({ texts }: { readonly texts: SetupTexts }) {
  return (
    <section class="card">
      <h3>Paste the tag</h3>
      <p class="hint">
        Anywhere into every page, best into the <code>&lt;head&gt;</code>. Pages do not wait for it.
      </p>
      <Paste text={texts.tag} test="tag" />
      <details data-test="stubs">
        <summary>A page calls {texts.global} before the script has loaded</summary>
        <p class="hint below">Put the stub before the tag: it records the calls until then.</p>
        <Paste text={texts.stub} isLong test="stub" />
        <p class="hint below">
          Or this one, which also keeps the calls if the visitor leaves too early. Not for a key
          that asks for consent: it stores them without waiting for an answer.
        </p>
        <Paste text={texts.keepingStub} isLong test="keeping-stub" />
      </details>
    </section>
  )
}

/** @param isForbidding Whether a check has found that the shop's policy forbids something. */
export function Policy({
  texts,
  isForbidding,
}: {
  readonly texts: SetupTexts
  readonly isForbidding: boolean
}) {
  return (
    <section class="card">
      <details data-test="policy">
        <summary>
          <h3 class="summed">Content-Security-Policy</h3>
        </summary>
        <p class="hint below">
          {isForbidding
            ? 'The shop’s policy forbids something: the check says what. In all, add to it:'
            : 'Only if the shop sends one. Add to it:'}
        </p>
        <dl class="csp">
          {texts.csp.map(({ directive, sources, why }) => (
            <div key={sources + directive}>
              <dt>
                <code>{directive}</code>
              </dt>
              <dd>
                <Paste text={sources} />
                <p class="hint">{why}</p>
              </dd>
            </div>
          ))}
        </dl>
      </details>
    </section>
  )
}

const RULES: Record<SetupTexts['consent']['rule'], string> = {
  granted: 'This key records from the first page on, without asking.',
  required: 'This key stores and sends nothing before the visitor agrees.',
  cookieless: 'Before the visitor agrees, this key counts visits without storing anything.',
}

/** @param isChecked Whether a check has looked for consent tools. */
export function Consent({
  consent,
  isChecked,
}: Pick<SetupTexts, 'consent'> & { readonly isChecked: boolean }) {
  const { rule, sources, suggested, title, command } = consent
  return (
    <section class="card" data-test="consent">
      <h3>Consent</h3>
      <p>
        {RULES[rule]}
        {sources.length > 0 && ` It takes the answer from ${sources.join(', ')}.`}
      </p>
      {title && (
        <p data-test="consent-tool">
          The shop asks with <b>{title}</b>: the source is <code>{suggested}</code>
          {command === null && ', and the key uses it'}.
        </p>
      )}
      {!title && (
        <p class="hint">
          {isChecked
            ? 'The check found no consent tool in the pages. A tag manager may load one.'
            : 'The check looks for the shop’s consent tool.'}
        </p>
      )}
      {command && (
        <>
          <p class="hint">
            {rule === 'granted' ? 'To ask first, and take' : 'To take'} the answer from{' '}
            {title ? 'it' : 'whichever tool the shop has'}:
          </p>
          <Paste text={command} />
        </>
      )}
    </section>
  )
}
