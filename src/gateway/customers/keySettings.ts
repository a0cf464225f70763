import { boolean, custom, safeParse, union } from 'valibot'
import { describeValue } from '../../contract/describeValue.ts'
import { EVENT_NAMES, type Issue, type TrackingOperation } from '../../contract/index.ts'
import {
  type KeySettings,
  PAGE_VIEW_EVENT,
  SETTINGS,
  type Setting,
} from '../../contract/settings.ts'
import { suggest } from '../lib/suggest.ts'
import { findConsentIssues } from './consentIssues.ts'
import { findBoundIssues } from './keySettingsBounds.ts'

type Settings = { readonly [name: string]: Setting }
type Values = { readonly [name: string]: unknown }

/** The settings, or every issue. */
export type CheckedSettings =
  | { readonly ok: true; readonly settings: KeySettings }
  | { readonly ok: false; readonly issues: readonly Issue[] }

/** Checks new settings, such as those of the command line. */
export function checkKeySettings(value: unknown): CheckedSettings {
  const checked = check(SETTINGS, value)
  if (!checked.ok) return checked
  const issues = [...findBoundIssues(checked.settings), ...findConsentIssues(checked.settings)]
  return issues.length > 0 ? { ok: false, issues } : checked
}

/**
 * Checks settings that are stored. It accepts what earlier versions accepted: texts of any length, and any fields in
 * `ga4` and `schemaOrg`.
 */
export const checkStoredSettings = (value: unknown): CheckedSettings =>
  check({ ...SETTINGS, ga4: OF_EARLIER_VERSIONS, schemaOrg: OF_EARLIER_VERSIONS }, value)

const OF_EARLIER_VERSIONS: Setting = {
  schema: union([boolean(), custom<object>(isObject)], 'true, false or an object'),
  doc: '',
}

function check(settings: Settings, value: unknown): CheckedSettings {
  const issues = findIssues(settings, value)
  if (issues.length > 0) return { ok: false, issues }
  const clashes = findClashes(value as KeySettings)
  return clashes.length > 0
    ? { ok: false, issues: clashes }
    : { ok: true, settings: value as KeySettings }
}

/** The unknown names and the invalid values of settings. */
function findIssues(settings: Settings, values: unknown, parent?: string): Issue[] {
  const path = parent ?? ''
  if (!isObject(values))
    return [{ path, message: `Expected an object, received ${describeValue(values, true)}` }]
  return Object.entries(values).flatMap(([name, value]) => {
    const path = parent === undefined ? name : `${parent}.${name}`
    const setting = Object.hasOwn(settings, name) ? settings[name] : undefined
    if (!setting) return [{ path, message: unknownSetting(name, Object.keys(settings)) }]
    const { schema, fields } = setting
    if (!schema || (fields && isObject(value))) return findIssues(fields ?? {}, value, path)
    return (safeParse(schema, value).issues ?? []).map((issue) => ({
      path: [path, ...(issue.path ?? []).map(({ key }) => String(key))].join('.'),
      message: `Expected ${issue.message}, received ${describeValue(issue.input)}.${suggestion(schema, value)}`,
    }))
  })
}

function isObject(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const unknownSetting = (name: string, known: readonly string[]): string =>
  `There is no such setting. Known are ${known.join(', ')}.${suggest(name, known)}`

/** The allowed text that a value is a misspelling of. */
const suggestion = (schema: object, value: unknown): string =>
  'options' in schema && typeof value === 'string' ? suggest(value, schema.options as string[]) : ''

const operations = Object.keys(EVENT_NAMES) as TrackingOperation[]

/**
 * Event names that two operations would share. The gateway finds the operation of an event by its name, and would
 * then require the fields of the wrong one.
 */
function findClashes({ events = {}, pageViewEvent }: KeySettings): Issue[] {
  const ownerOf = new Map<string, TrackingOperation>()
  for (const operation of operations)
    if (EVENT_NAMES[operation]) ownerOf.set(EVENT_NAMES[operation], operation)
  ownerOf.set(pageViewEvent ?? PAGE_VIEW_EVENT, 'viewHomepage')
  const issues: Issue[] = []
  const usual = operations.find((operation) => EVENT_NAMES[operation] === pageViewEvent)
  if (usual && usual !== 'viewHomepage')
    issues.push({
      path: 'pageViewEvent',
      message: `${pageViewEvent} is the event name of ${usual}`,
    })
  for (const operation of operations) {
    const name = events[operation]
    if (name === undefined) continue
    const owner = ownerOf.get(name)
    if (owner && owner !== operation)
      issues.push({ path: `events.${operation}`, message: `${name} is the event name of ${owner}` })
    else ownerOf.set(name, operation)
  }
  return issues
}
