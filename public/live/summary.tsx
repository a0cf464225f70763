/** The side column: totals, last minute, funnel, kinds, and devices with their trails. */
import { Component, type ComponentChildren, createRef } from 'preact'
import { KINDS } from '../operator/kinds.ts'
import { nameOf, number } from '../operator/numbers.ts'
import { Sign } from '../operator/signs.tsx'
import { Dot } from './dot.tsx'
import { cut, shortDid } from './kinds.ts'
import type { Device, Filter, Model } from './model.ts'

export const BARS = 30
const MAX_DEVICES = 12
/** The longest list of devices while the pointer or the focus is on it: then none is removed. */
const MAX_LISTED = 50

type Props = {
  readonly model: Model
  /** The model's last minute, at the time of drawing. */
  readonly minute: ReturnType<Model['lastMinute']>
  readonly filter: Filter
  /** Whether the longer panels are closed at first: on a phone, the events should be visible without scrolling. */
  readonly isShort: boolean
  readonly isHidden: boolean
  readonly onKind: (kind: string) => void
  readonly onAllKinds: () => void
  readonly onDevice: (did: string) => void
}

export function Summary(props: Props) {
  const { model, minute, filter, isShort, isHidden } = props
  const { count, isMore } = model.deviceTotal()
  return (
    <aside class="side" aria-label="Summary" hidden={isHidden}>
      <section class="figures" aria-label="Totals">
        <dl>
          <div>
            <dt>{nameOf(model.total(), 'event')}</dt>
            <dd data-test="total">{number(model.total())}</dd>
          </div>
          <div>
            <dt>last minute</dt>
            <dd data-test="last-minute">{number(minute.count)}</dd>
          </div>
          <div>
            <dt>{nameOf(count, 'device')}</dt>
            <dd data-test="device-total">{number(count) + (isMore ? '+' : '')}</dd>
          </div>
        </dl>
        <Pulse slots={minute.slots} />
      </section>
      <Panel title="Funnel" isOpen>
        <Funnel model={model} />
      </Panel>
      <Panel
        title="Kinds"
        isOpen={!isShort}
        onAll={filter.kinds.size > 0 ? props.onAllKinds : undefined}
      >
        <Kinds {...props} />
      </Panel>
      <Panel
        title="Devices"
        isOpen={!isShort}
        onAll={filter.did ? () => props.onDevice(filter.did) : undefined}
      >
        <Devices {...props} />
      </Panel>
    </aside>
  )
}

/** `isOpen` is the initial state. After that, the operator opens and closes the panel. */
class Panel extends Component<{
  readonly title: string
  readonly isOpen: boolean
  readonly onAll?: (() => void) | undefined
  readonly children: ComponentChildren
}> {
  readonly isOpen = this.props.isOpen

  render() {
    const { title, onAll, children } = this.props
    return (
      <details class="panel" open={this.isOpen}>
        <summary>
          <h2>{title}</h2>
        </summary>
        {onAll && (
          <button type="button" class="text" onClick={onAll}>
            show all
          </button>
        )}
        {children}
      </details>
    )
  }
}

/** The last minute as a bar chart. */
function Pulse({ slots }: { readonly slots: readonly number[] }) {
  const width = 120 / BARS
  const most = Math.max(4, ...slots)
  return (
    <svg id="pulse" viewBox="0 0 120 24" preserveAspectRatio="none" aria-hidden="true">
      {slots.map((value, index) => {
        const height = value ? Math.max(2, (value / most) * 24) : 1
        return <rect x={index * width + 0.5} width={width - 1} y={24 - height} height={height} />
      })}
    </svg>
  )
}

function Funnel({ model }: { readonly model: Model }) {
  const steps = model.funnel()
  const most = Math.max(1, ...steps.map(({ devices }) => devices))
  return (
    <ol id="funnel" data-test="funnel">
      {steps.map(({ kind, name, one, events, devices, isMore, share }) => (
        <li key={kind} data-test={`funnel-${kind}`}>
          <span>{name}</span>
          <div class="track">
            <i data-kind={kind} style={{ width: `${(devices / most) * 100}%` }} />
          </div>
          <b>{share === null ? '–' : `${Math.round(share * 100)} %`}</b>
          <small>
            {`${number(devices)}${isMore ? '+' : ''} ${nameOf(devices, 'device')}\u00a0· ${number(events)} ${nameOf(events, one)}`}
          </small>
        </li>
      ))}
    </ol>
  )
}

function Kinds({ model, filter, onKind }: Props) {
  return (
    <ul id="kinds" data-test="kinds">
      {[...KINDS].map(([kind, name]) => {
        const count = model.count(kind)
        return (
          <li key={kind} class={count === 0 ? 'none' : ''}>
            <button
              type="button"
              aria-pressed={filter.kinds.has(kind)}
              onClick={() => onKind(kind)}
              data-test={`kind-${kind}`}
            >
              <Sign name={kind} kind={kind} />
              <span>{name}</span>
              <output>{number(count)}</output>
            </button>
          </li>
        )
      })}
    </ul>
  )
}

class Devices extends Component<Props> {
  readonly list = createRef<HTMLUListElement>()
  listed: readonly Device[] = []

  /** The newest devices. While one has the focus or the pointer, the order is kept and new ones are added at the end. */
  choose(newest: readonly Device[]): readonly Device[] {
    if (!this.list.current?.matches(':focus-within, :hover')) return newest
    const now = new Map(newest.map((device) => [device.did, device]))
    const kept = this.listed.map((device) => now.get(device.did) ?? device)
    for (const { did } of kept) now.delete(did)
    return [...kept, ...now.values()].slice(0, Math.max(kept.length, MAX_LISTED))
  }

  render({ model, filter, onDevice }: Props) {
    this.listed = this.choose(model.devices(MAX_DEVICES))
    return (
      <ul id="devices" ref={this.list} data-test="devices">
        {this.listed.map(({ did, count, trail }) => (
          <li key={did}>
            <button
              type="button"
              title={cut(did)}
              aria-pressed={did === filter.did}
              onClick={() => onDevice(did)}
              data-test="device"
              data-did={did}
            >
              <Dot did={did} />
              <code>{shortDid(did)}</code>
              <span class="trail" aria-hidden="true">
                {trail.map((kind) => (
                  <i data-kind={kind} />
                ))}
              </span>
              <output>{number(count)}</output>
            </button>
          </li>
        ))}
      </ul>
    )
  }
}
