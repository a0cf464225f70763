/** How far a campaign's visitors came, as columns that get shorter. */
import { h, svg } from '/live/dom.js'
import { counted, number, percent } from './model.js'
import { drawToFit, picture } from './picture.js'
import { funnelOf } from './scale.js'

export function createFunnel() {
  const element = h('div', { class: 'picture', 'data-test': 'funnel' })
  let steps = []
  const redraw = drawToFit(element, draw)

  function draw(width) {
    const [top, height, bottom] = [40, 160, 46]
    const base = top + height
    const isNarrow = width < 420
    const slot = width / steps.length
    const bar = Math.min(118, slot * 0.64)
    const first = steps[0].count
    const most = Math.max(1, ...steps.map(({ count }) => count))
    const tall = ({ count }) => (count ? Math.max(3, (count / most) * height) : 0)
    const x = (index) => index * slot + (slot - bar) / 2
    const text = (index, y, name, ...inside) =>
      svg(
        'text',
        { x: index * slot + slot / 2, y, class: name, 'text-anchor': 'middle' },
        ...inside,
      )
    const bands = steps.slice(1).map((step, index) => {
      const [from, to] = [base - tall(steps[index]), base - tall(step)]
      const [left, right] = [x(index) + bar, x(index + 1)]
      return svg('path', {
        class: 'band',
        'data-kind': step.kind,
        d: `M${left} ${from} L${right} ${to} V${base} H${left} Z`,
      })
    })
    const columns = steps.map((step, index) =>
      svg(
        'g',
        { 'data-kind': step.kind, 'data-test': `funnel-${step.kind}`, 'data-count': step.count },
        svg('title', {}, `${step.name}: ${number(step.count)} of ${counted(first, 'visitor')}`),
        svg('rect', {
          class: 'column',
          x: x(index),
          y: base - tall(step),
          width: bar,
          height: tall(step),
          rx: Math.min(4, tall(step) / 2),
        }),
        svg('rect', { class: 'foot', x: x(index), y: base, width: bar, height: 2 }),
        text(index, base - tall(step) - 10, isNarrow ? 'count small' : 'count', number(step.count)),
        text(index, base + 22, 'name', isNarrow ? step.name.replace(' view', '') : step.name),
        text(index, base + 39, 'share', index ? percent(step.count, first) : 'devices'),
      ),
    )
    const said = steps.map(({ name, count }) => `${name} ${number(count)}`).join(', ')
    element.replaceChildren(
      picture(
        'funnel',
        width,
        base + bottom,
        'How far visitors came, by device',
        said,
        ...bands,
        ...columns,
      ),
    )
  }

  return {
    element,
    draw(report) {
      steps = funnelOf(report)
      redraw()
    },
  }
}
