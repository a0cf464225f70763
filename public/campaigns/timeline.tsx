/** Visitors, carts and checkouts by day: a chart with two panels above one row of dates, and a table. */
import type { TargetedKeyboardEvent } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { ReportDay } from '../../src/contract/answers.ts'
import { counted, number } from '../operator/numbers.ts'
import { Chart, useWidth } from './chart.tsx'
import { showDay, showMoment } from './model.ts'
import { labelled, scaleOf, spreadDays } from './scale.ts'

/** A series of the chart: the field of a report's day, its nouns, and the kind that sets its colour. */
const VISITORS = {
  field: 'visitors',
  one: 'visitor',
  name: 'Visitors',
  kind: 'viewHomepage',
} as const
const CARTS = {
  field: 'add_to_cart',
  one: 'cart',
  name: 'Added to cart',
  kind: 'addToCart',
} as const
const CHECKOUTS = {
  field: 'initiate_checkout',
  one: 'checkout',
  name: 'Checkouts',
  kind: 'initiateCheckout',
} as const
const SERIES = [VISITORS, CARTS, CHECKOUTS]
type Series = (typeof SERIES)[number]

/** px. */
const PANEL_HEIGHT = 94
const UPPER = 28
const LOWER = 168
const HEIGHT = 292
/** If days are narrower than this, px, the values are drawn as a stepped line instead of columns. */
const NARROWEST_SLOT = 6
const LABEL_WIDTH = 56

/** Horizontal positions of the days, px. */
type Scale = {
  readonly width: number
  readonly left: number
  /** Width of a day. */
  readonly slot: number
  readonly middle: (index: number) => number
}

function scaleDays(days: readonly ReportDay[], width: number): Scale {
  const most = Math.max(9, ...days.flatMap((day) => SERIES.map(({ field }) => day[field])))
  const left = 8 + 8 * number(most).length
  const slot = (width - left - 4) / Math.max(1, days.length)
  return { width, left, slot, middle: (index) => left + (index + 0.5) * slot }
}

export function Timeline(props: { readonly days: readonly ReportDay[] }) {
  const [canvas, width] = useWidth<HTMLDivElement>()
  const [chosen, choose] = useState(-1)
  const tip = useRef<HTMLDivElement>(null)
  const days = spreadDays(props.days)
  const day = days[chosen]
  const scale = scaleDays(days, width)
  const { left, slot, middle } = scale

  useLayoutEffect(() => {
    if (!day || !tip.current) return
    // To the right of the day, or to the left if there is no room.
    const { offsetWidth } = tip.current
    const right = middle(chosen) + slot / 2 + 6
    const fits = right + offsetWidth <= width
    const other = Math.max(0, middle(chosen) - slot / 2 - 6 - offsetWidth)
    tip.current.style.left = `${fits ? right : other}px`
  })

  function moveByKey(event: TargetedKeyboardEvent<HTMLDivElement>) {
    // With a modifier the keys are shortcuts of the browser: Alt and left goes back, for example.
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return
    const next = {
      ArrowLeft: Math.max(0, (chosen < 0 ? days.length : chosen) - 1),
      ArrowRight: chosen + 1,
      Home: 0,
      End: days.length - 1,
      Escape: -1,
    }[event.key]
    if (next === undefined) return
    event.preventDefault()
    choose(Math.min(days.length - 1, next))
  }

  function point({ clientX }: PointerEvent) {
    if (!canvas.current) return
    const index = Math.floor((clientX - canvas.current.getBoundingClientRect().left - left) / slot)
    choose(index >= 0 && index < days.length ? index : -1)
  }

  const sums = SERIES.map(
    ({ field, name }) => `${name} ${number(days.reduce((sum, one) => sum + one[field], 0))}`,
  )
  return (
    <div
      class="timeline"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys move from day to day.
      tabIndex={0}
      role="group"
      aria-label="Day by day. The left and right keys move from day to day."
      onKeyDown={moveByKey}
      onPointerMove={point}
      onPointerLeave={() => choose(-1)}
      onBlur={() => choose(-1)}
      data-test="timeline"
    >
      <div class="picture" ref={canvas}>
        {width > 0 && (
          <Chart
            id="timeline"
            width={width}
            height={HEIGHT}
            title="Visitors, carts and checkouts by day"
            text={`${sums.join(', ')}. The table below lists every day.`}
          >
            {day && (
              <rect
                class="cursor"
                x={left + chosen * slot}
                y={UPPER}
                width={slot}
                height={LOWER - UPPER + PANEL_HEIGHT}
              />
            )}
            <Panel top={UPPER} name="Visitors" series={[VISITORS]} days={days} scale={scale} />
            <Panel
              top={LOWER}
              name="Carts and checkouts"
              series={[CARTS, CHECKOUTS]}
              days={days}
              scale={scale}
            />
            <Dates days={days} scale={scale} />
          </Chart>
        )}
      </div>
      <div ref={tip} class="tip" role="status" hidden={!day} data-test="tip">
        {day && <b>{showMoment(day.date)}</b>}
        {day &&
          SERIES.map(({ field, one, kind }) => (
            <span key={kind} data-kind={kind}>
              <i />
              <em>{counted(day[field], one)}</em>
            </span>
          ))}
      </div>
    </div>
  )
}

function Panel({
  top,
  name,
  series,
  days,
  scale,
}: {
  readonly top: number
  readonly name: string
  readonly series: readonly Series[]
  readonly days: readonly ReportDay[]
  readonly scale: Scale
}) {
  const { width, left, slot, middle } = scale
  const values = series.flatMap(({ field }) => days.map((day) => day[field]))
  const { top: most, ticks } = scaleOf(Math.max(0, ...values))
  const y = (count: number) => top + PANEL_HEIGHT - (count / most) * PANEL_HEIGHT
  const bar = Math.min(series.length > 1 ? 18 : 34, (slot * 0.66) / series.length)

  const steps = (field: Series['field']) =>
    days
      .map(
        (day, index) => `${index ? 'V' : `M${left} `}${y(day[field])}H${left + (index + 1) * slot}`,
      )
      .join('')

  return (
    <g>
      <text class="panel" x={left} y={top - 9}>
        {name}
      </text>
      {ticks.map((tick) => (
        <>
          <path class={tick ? 'grid' : 'grid zero'} d={`M${left} ${y(tick)}H${width}`} />
          <text class="tick" x={left - 8} y={y(tick) + 4} text-anchor="end">
            {number(tick)}
          </text>
        </>
      ))}
      {series.map(({ field, kind }, position) =>
        slot < NARROWEST_SLOT ? (
          <path key={kind} class="line" data-kind={kind} d={steps(field)} />
        ) : (
          <g key={kind} data-kind={kind}>
            {days.map((day, index) => {
              if (!day[field]) return undefined
              const tall = Math.max(2, y(0) - y(day[field]))
              return (
                <rect
                  class="column"
                  x={middle(index) + (position - series.length / 2) * (bar + 2) + 1}
                  y={y(0) - tall}
                  width={bar}
                  height={tall}
                  rx={Math.min(2.5, bar / 3)}
                />
              )
            })}
          </g>
        ),
      )}
    </g>
  )
}

function Dates({ days, scale }: { readonly days: readonly ReportDay[]; readonly scale: Scale }) {
  const { width, slot, middle } = scale
  return (
    <g class="dates">
      {labelled(days.length, slot, LABEL_WIDTH).map((index) => {
        // If days are narrow, a centred last label would cross the edge.
        const isLast = index === days.length - 1 && slot < 40
        return (
          <text
            x={isLast ? width : middle(index)}
            y={HEIGHT - 8}
            text-anchor={isLast ? 'end' : 'middle'}
          >
            {showDay(days[index]?.date ?? '')}
          </text>
        )
      })}
    </g>
  )
}

/** The meaning of the colours of the days. */
export function Legend() {
  return (
    <ul class="legend">
      {SERIES.map(({ name, kind }) => (
        <li key={kind} data-kind={kind}>
          <i />
          <span>{name}</span>
        </li>
      ))}
    </ul>
  )
}

/** The days as a table, newest first. */
export function DayTable({ days }: { readonly days: readonly ReportDay[] }) {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Day (UTC)</th>
          {SERIES.map(({ name }) => (
            <th key={name} scope="col">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {days.toReversed().map((day) => (
          <tr key={day.date}>
            <th scope="row">{showMoment(day.date)}</th>
            {SERIES.map(({ field }) => (
              <td key={field}>{number(day[field])}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
