/** One event in full: when it happened and arrived, its device, and its payload as JSON. */
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { CopyButton } from '../operator/copyButton.tsx'
import { paint } from '../operator/json.tsx'
import { KINDS } from '../operator/kinds.ts'
import { Sign } from '../operator/signs.tsx'
import { exactTime, span } from '../operator/time.ts'
import { Dot } from './dot.tsx'
import { hasNoConsent } from './kinds.ts'
import type { Shown } from './model.ts'

/** From this delay on, the inspector shows how much later the event arrived. */
const LATE_MS = 1500

type Listeners = {
  readonly onClose: () => void
  readonly onDevice: (did: string) => void
}

export function Inspector({
  record,
  onClose,
  onDevice,
}: Listeners & { readonly record: Shown | undefined }) {
  const panel = useRef<HTMLElement>(null)
  const title = useRef<HTMLHeadingElement>(null)

  useLayoutEffect(() => {
    if (!record || !panel.current) return
    panel.current.scrollTop = 0
    title.current?.focus({ preventScroll: true })
  }, [record])

  const json = record ? JSON.stringify(record.payload, null, 2) : ''
  return (
    <aside
      ref={panel}
      class="inspector"
      aria-label="Chosen event"
      hidden={!record}
      data-test="inspector"
      onKeyDown={({ key }) => {
        if (key === 'Escape') onClose()
      }}
    >
      <div class="title">
        <h2 ref={title} tabIndex={-1}>
          {record && <Sign name={record.kind} kind={record.kind} />}
          {record && KINDS.get(record.kind)}
        </h2>
        <button type="button" aria-label="Close" onClick={onClose} data-test="close-inspector">
          <Sign name="close" />
        </button>
      </div>
      <dl>{record && <Facts record={record} onDevice={onDevice} />}</dl>
      <div class="json">
        <div class="caption">
          <h3>Payload</h3>
          <CopyButton key={record?.id} text={json} label="Copy JSON" test="copy-json" />
        </div>
        <p class="notice" hidden={!record?.storedBytes} data-test="shortened">
          {record?.storedBytes && describeCut(record.storedBytes, record)}
        </p>
        <pre data-test="json">{paint(json)}</pre>
      </div>
    </aside>
  )
}

function Facts({
  record,
  onDevice,
}: {
  readonly record: Shown
  readonly onDevice: Listeners['onDevice']
}) {
  const { operation, event, at, receivedAt, did, id, seq, bot, version } = record
  const lateMs = receivedAt - at
  return (
    <>
      <Fact name="operation">
        <code>{operation}</code>
      </Fact>
      <Fact name="event">
        <code>{event}</code>
      </Fact>
      <Fact name="happened">{exactTime(at)}</Fact>
      <Fact name="arrived">
        {exactTime(receivedAt)} {lateMs > LATE_MS && `(${span(lateMs)} later)`}
      </Fact>
      {did ? (
        <Fact name="device">
          <span class="did">
            <Dot did={did} />
            <code>{did}</code>
          </span>
          <button
            type="button"
            class="text"
            onClick={() => onDevice(did)}
            data-test="inspector-device"
          >
            only this device
          </button>
        </Fact>
      ) : (
        <Fact name="device">none: a server sent it by the REST API</Fact>
      )}
      <Fact name="id">
        <code>{id}</code>
      </Fact>
      <Fact name="position">{seq}</Fact>
      {version && <Fact name="script">{version}</Fact>}
      {bot && <Fact name="bot">yes, by its user agent</Fact>}
      {hasNoConsent(record) && (
        <Fact name="consent">none: the device id is a hash that changes each day</Fact>
      )}
    </>
  )
}

function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

function describeCut(storedBytes: number, { payload }: Shown): string {
  const size = `${Math.round(storedBytes / 1000)} kB`
  return Object.keys(payload).length > 0
    ? `Shortened: ${size} are stored. Long texts are cut here and end in “…”.`
    : `The payload is too large to be shown: ${size} are stored.`
}
