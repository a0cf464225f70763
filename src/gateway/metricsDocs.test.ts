import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeClusterFigures } from '../test/clusterFigures.ts'
import { prepareGateway, send } from '../test/gateway.ts'
import { createMetrics } from './http/metrics.ts'

const page = readFileSync(
  `${fileURLToPath(new URL('../../', import.meta.url))}docs/metrics.md`,
  'utf8',
)

let prepared: Awaited<ReturnType<typeof prepareGateway>>
/** Names of the metrics that a gateway has, with those of histograms. */
let names: ReadonlySet<string>
/** Labels of each metric that has values. */
const labelsOf = new Map<string, ReadonlySet<string>>()
beforeAll(async () => {
  prepared = await prepareGateway()
  const gateway = await prepared.start({ metricsPort: 0 })
  const { text: scraped } = await send(gateway.metricsUrl as string, '/metrics')
  // What only a gateway over a cluster has. A test with a cluster compares these with a real one.
  const cluster = createMetrics(
    () => 0,
    () => new Map(),
    { cluster: makeClusterFigures },
  )
  const text = scraped + (await cluster.render()).text
  names = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name))
  for (const [, name = '', labels = ''] of text.matchAll(/^(\w+)\{(.*)\} \S+$/gm))
    labelsOf.set(name, new Set([...labels.matchAll(/(\w+)="/g)].map(([, label = '']) => label)))
})
afterAll(() => prepared.end())

/** The default metrics of prom-client. */
const isOfProcess = (name: string): boolean => /^(process|nodejs)_/.test(name)

test('docs/metrics.md lists each metric of the gateway, and no other', () => {
  const listed = [...page.matchAll(/^\| `([a-z_]+)` \|/gm)].map(([, name]) => name)
  expect(new Set(listed).size).toBe(listed.length)
  expect(listed.sort()).toEqual([...names].filter((name) => !isOfProcess(name)).sort())
})

test('docs/metrics.md has the labels of each metric', () => {
  for (const [name, labels] of labelsOf) {
    if (isOfProcess(name) || labels.has('le')) continue
    const row = page.split('\n').find((line) => line.startsWith(`| \`${name}\` |`)) ?? ''
    for (const label of labels)
      expect([name, row]).toContainEqual(expect.stringContaining(`\`${label}\``))
  }
})

/**
 * The rules of a block of YAML in the form that the page uses. A line of another form is a mistake, as in Prometheus a
 * rule of another form would be.
 */
function readRules(yaml: string) {
  const rules: Record<string, string>[] = []
  const lines = yaml.trimEnd().split('\n')
  expect(lines.splice(0, 3)).toEqual(['groups:', '  - name: shoptrail', '    rules:'])
  for (const line of lines) {
    const [, start] = /^ {6}- alert: (\w+)$/.exec(line) ?? []
    const [, key = '', value = ''] = /^ {8}(expr|for|annotations):(?: (.+))?$/.exec(line) ?? []
    const [, summary] = /^ {10}summary: (.+)$/.exec(line) ?? []
    const [, more] = /^ {10}(?!summary:)(\S.*)$/.exec(line) ?? []
    const last = rules.at(-1)
    if (start) rules.push({ alert: start })
    else if (last && key) last[key] = value === '>-' ? '' : value
    else if (last && summary) last.summary = summary
    else if (last && more) last.expr = `${last.expr} ${more}`.trim()
    else throw new Error(`A line that is not of a rule: ${line}`)
  }
  return rules
}

test('the alerts of docs/metrics.md are rules about metrics that exist', () => {
  const [, yaml = ''] = /^```yaml\n(.+?)^```$/ms.exec(page) ?? []
  const rules = readRules(yaml)
  expect(rules.length).toBeGreaterThan(8)
  for (const rule of rules) {
    expect(Object.keys(rule).sort()).toEqual(['alert', 'annotations', 'expr', 'for', 'summary'])
    expect(rule.for).toMatch(/^\d+[mh]$/)
    // Unquoted text of YAML can not have these.
    expect(rule.summary).not.toMatch(/: | #|^[&*!|>'"%@`{[]/)
    const expr = rule.expr ?? ''
    for (const [open, close] of ['()', '[]', '{}'])
      expect(expr.split(open as string).length).toBe(expr.split(close as string).length)
    const used = [...expr.matchAll(/\b[a-z]+(?:_[a-z0-9]+)+\b(?=\s*[[{><)])/g)].map(
      ([name]) => name,
    )
    const known = (name: string) =>
      names.has(name) || names.has(name.replace(/_(bucket|sum|count)$/, ''))
    expect(used.filter((name) => !known(name))).toEqual([])
    if (!expr.startsWith('up{')) expect(used.length).toBeGreaterThan(0)
  }
})
