/** The funnel of a campaign's visitors, as columns. */
import type { EmailReport } from '../../src/contract/answers.ts'
import { counted, number } from '../operator/numbers.ts'
import { Chart, useWidth } from './chart.tsx'
import { percent } from './model.ts'
import { funnelOf } from './scale.ts'

/** px. */
const TOP = 40
const HEIGHT = 160
const BASE = TOP + HEIGHT
const BOTTOM = 46
const NARROW = 500

export function Funnel({ report }: { readonly report: EmailReport }) {
  const [element, width] = useWidth<HTMLDivElement>()
  const steps = funnelOf(report)
  const isNarrow = width < NARROW
  const slot = width / steps.length
  const bar = Math.min(118, slot * 0.64)
  const most = Math.max(1, ...steps.map(({ count }) => count))
  const columns = steps.map((step, index) => ({
    ...step,
    x: index * slot + (slot - bar) / 2,
    middle: (index + 0.5) * slot,
    tall: step.count ? Math.max(3, (step.count / most) * HEIGHT) : 0,
  }))
  return (
    <div class="picture" ref={element} data-test="funnel">
      {width > 0 && (
        <Chart
          id="funnel"
          width={width}
          height={BASE + BOTTOM}
          title="How far visitors came, by device"
          text={steps.map(({ name, count }) => `${name} ${number(count)}`).join(', ')}
        >
          {columns.map(({ kind, x, tall }, index) => {
            const before = columns[index - 1]
            if (!before) return undefined
            const left = before.x + bar
            return (
              <path
                class="band"
                data-kind={kind}
                d={`M${left} ${BASE - before.tall} L${x} ${BASE - tall} V${BASE} H${left} Z`}
              />
            )
          })}
          {columns.map(({ name, kind, count, x, middle, tall }, index) => (
            <g key={kind} data-kind={kind} data-test={`funnel-${kind}`} data-count={count}>
              <title>{`${name}: ${number(count)} of ${counted(report.visitors, 'visitor')}`}</title>
              <rect
                class="column"
                x={x}
                y={BASE - tall}
                width={bar}
                height={tall}
                rx={Math.min(4, tall / 2)}
              />
              <rect class="foot" x={x} y={BASE} width={bar} height={2} />
              <text
                class={isNarrow ? 'count small' : 'count'}
                x={middle}
                y={BASE - tall - 10}
                text-anchor="middle"
              >
                {number(count)}
              </text>
              <text class="name" x={middle} y={BASE + 22} text-anchor="middle">
                {isNarrow ? name.replace(' view', '') : name}
              </text>
              <text class="share" x={middle} y={BASE + 39} text-anchor="middle">
                {index ? percent(count, report.visitors) : 'devices'}
              </text>
            </g>
          ))}
        </Chart>
      )}
    </div>
  )
}
