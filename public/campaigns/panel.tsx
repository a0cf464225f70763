/** One panel of the chart of days: columns, or a stepped line if the days are narrow. */
import type { ReportDay } from '../../src/contract/answers.ts'
import { showDay } from './model.ts'
import { labelled, scaleOf } from './scale.ts'
import type { PanelOfDays, Series } from './series.ts'

/** px. */
export const PANEL_HEIGHT = 94
/** If days are narrower than this, px, the values are drawn as a stepped line instead of columns. */
const NARROWEST_SLOT = 6
const LABEL_WIDTH = 56
/** Width of a character of an axis, px. */
const CHARACTER_WIDTH = 7.5

/** Horizontal positions of the days, px. */
export type Scale = {
  readonly width: number
  readonly left: number
  /** Width of a day. */
  readonly slot: number
  readonly middle: (index: number) => number
}

/** The scale of a panel's values. */
const ticksOf = ({ series }: PanelOfDays, days: readonly ReportDay[]) => {
  const values = series.flatMap(({ measure }) => days.map(measure))
  return scaleOf(Math.max(0, ...values), Math.min(0, ...values))
}

/** Positions that leave room for the widest text of the axes. */
export function scaleDays(
  panels: readonly PanelOfDays[],
  days: readonly ReportDay[],
  width: number,
): Scale {
  const texts = panels.flatMap((panel) => ticksOf(panel, days).ticks.map(panel.tick))
  const left = 10 + CHARACTER_WIDTH * Math.max(2, ...texts.map(({ length }) => length))
  const slot = (width - left - 4) / Math.max(1, days.length)
  return { width, left, slot, middle: (index) => left + (index + 0.5) * slot }
}

export function Panel({
  top,
  panel,
  days,
  scale,
}: {
  readonly top: number
  readonly panel: PanelOfDays
  readonly days: readonly ReportDay[]
  readonly scale: Scale
}) {
  const { name, series, tick: write } = panel
  const { width, left, slot, middle } = scale
  const { bottom, top: most, ticks } = ticksOf(panel, days)
  const y = (value: number) => top + ((most - value) / (most - bottom)) * PANEL_HEIGHT
  const bar = Math.min(series.length > 1 ? 18 : 34, (slot * 0.66) / series.length)

  const steps = (measure: Series['measure']) =>
    days
      .map(
        (day, index) =>
          `${index ? 'V' : `M${left} `}${y(measure(day))}H${left + (index + 1) * slot}`,
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
            {write(tick)}
          </text>
        </>
      ))}
      {series.map(({ measure, kind }, position) =>
        slot < NARROWEST_SLOT ? (
          <path key={kind} class="line" data-kind={kind} d={steps(measure)} />
        ) : (
          <g key={kind} data-kind={kind}>
            {days.map((day, index) => {
              const value = measure(day)
              if (!value) return undefined
              const tall = Math.max(2, Math.abs(y(0) - y(value)))
              return (
                <rect
                  class="column"
                  x={middle(index) + (position - series.length / 2) * (bar + 2) + 1}
                  y={value > 0 ? y(0) - tall : y(0)}
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

/** @param y Position of the texts, px. */
export function Dates({
  days,
  scale,
  y,
}: {
  readonly days: readonly ReportDay[]
  readonly scale: Scale
  readonly y: number
}) {
  const { width, slot, middle } = scale
  return (
    <g class="dates">
      {labelled(days.length, slot, LABEL_WIDTH).map((index) => {
        // If days are narrow, a centred last label would cross the edge.
        const isLast = index === days.length - 1 && slot < 40
        return (
          <text x={isLast ? width : middle(index)} y={y} text-anchor={isLast ? 'end' : 'middle'}>
            {showDay(days[index]?.date ?? '')}
          </text>
        )
      })}
    </g>
  )
}
