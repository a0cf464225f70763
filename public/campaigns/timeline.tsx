/** A report's days: a chart with panels above one row of dates, and a table. */
import type { TargetedKeyboardEvent } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Chart, useWidth } from './chart.tsx'
import { showMoment } from './model.ts'
import { Dates, PANEL_HEIGHT, Panel, scaleDays } from './panel.tsx'
import { spreadDays } from './scale.ts'
import { type Days, panelsOf, seriesOf } from './series.ts'

/** Top of the first panel, px. */
const FIRST = 28
/** From the top of a panel to that of the next one, px. */
const PANEL_STEP = 140
/** Room below the last panel for the dates, px. */
const BELOW = 30

export function Timeline({ report }: { readonly report: Days }) {
  const [canvas, width] = useWidth<HTMLDivElement>()
  const [chosen, choose] = useState(-1)
  const tip = useRef<HTMLDivElement>(null)
  const days = spreadDays(report.days)
  const day = days[chosen]
  const panels = panelsOf(report)
  const scale = scaleDays(panels, days, width)
  const end = FIRST + (panels.length - 1) * PANEL_STEP + PANEL_HEIGHT
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

  const series = seriesOf(report)
  const sums = series.map(({ name, total }) => `${name} ${total(report)}`)
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
            height={end + BELOW}
            title={`${panels.map(({ name }) => name).join(', ')} by day`}
            text={`${sums.join(', ')}. The table below lists every day.`}
          >
            {day && (
              <rect
                class="cursor"
                x={left + chosen * slot}
                y={FIRST}
                width={slot}
                height={end - FIRST}
              />
            )}
            {panels.map((panel, index) => (
              <Panel
                key={panel.name}
                top={FIRST + index * PANEL_STEP}
                panel={panel}
                days={days}
                scale={scale}
              />
            ))}
            <Dates days={days} scale={scale} y={end + BELOW - 8} />
          </Chart>
        )}
      </div>
      <div ref={tip} class="tip" role="status" hidden={!day} data-test="tip">
        {day && <b>{showMoment(day.date)}</b>}
        {day &&
          series.map(({ name, kind, tell }) => (
            <span key={name} data-kind={kind}>
              <i />
              <em>{tell(day)}</em>
            </span>
          ))}
      </div>
    </div>
  )
}

/** The meaning of the colours of the days. Orders and revenue have the same. */
export function Legend({ report }: { readonly report: Days }) {
  return (
    <ul class="legend">
      {panelsOf(report)
        .flatMap(({ series }) => series)
        .map(({ name, kind }) => (
          <li key={name} data-kind={kind}>
            <i />
            <span>{name}</span>
          </li>
        ))}
    </ul>
  )
}

/** The days as a table, newest first. */
export function DayTable({ report }: { readonly report: Days }) {
  const series = seriesOf(report)
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Day ({report.time_zone})</th>
          {series.map(({ name }) => (
            <th key={name} scope="col">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {report.days.toReversed().map((day) => (
          <tr key={day.date}>
            <th scope="row">{showMoment(day.date)}</th>
            {series.map(({ name, write }) => (
              <td key={name}>{write(day)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
