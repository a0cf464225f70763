import type { ConsentReader, Path } from '../../contract/consentTools.ts'
import { guard } from './guard.ts'
import { listen } from './listen.ts'

/** What a source says. Undefined: the visitor has not answered. */
export type Answered = 'granted' | 'denied' | undefined

/** The settings of a key that this file reads. Those that a tag may set are text there. */
type Settings = {
  readonly consentTools?: readonly ConsentReader[]
  /** Absent if the key does not follow Google Consent Mode. On the tag, separated by commas. */
  readonly consentTypes?: readonly string[] | string | undefined
  readonly consentRegion?: string | undefined
}

/** A value of the page, which may be anything. */
// biome-ignore lint/suspicious/noExplicitAny: an access that fails is caught.
type Foreign = any

type Values = { readonly [type: string]: unknown }
type Readers = Map<(push: object, before: string | undefined) => string, WeakMap<object, string>>
type Answer = (source: string, state: Answered) => void

/** All sources are read again after this time, then after twice as long, up to LAST_MS: 15 times. */
const FIRST_MS = 50
const LAST_MS = 1_000_000

/**
 * Reports what the sources of a key say about the visitor's consent, at once and whenever it may have changed
 * (docs/decisions.md, "Consent sources"). Errors of the page's code are caught.
 *
 * @param readers Readers of the dataLayer.
 * @param answer Called with the name of a source and what it says now, which may be what it said before. Must not throw.
 * @returns Reads all sources again.
 */
export function watchConsent(
  { consentTools = [], consentTypes, consentRegion }: Settings,
  readers: Readers,
  answer: Answer,
): () => void {
  const reads = consentTools.map((tool) => watchTool(tool, readers, answer))
  const read = () => {
    for (const readTool of reads) readTool()
  }
  if (consentTypes)
    readers.set(createModeReader(consentTypes, consentRegion, answer), new WeakMap())

  // A tool reacts to the click later. The visitor may have answered it.
  listen(window, 'click', () => setTimeout(read), true)
  // Some interfaces appear later without an event.
  for (let wait = FIRST_MS; wait < LAST_MS; wait *= 2) setTimeout(read, wait)
  read()
  return read
}

/** @returns Reads the tool's state. */
function watchTool(
  { name, events, state, load, push, rules }: ConsentReader,
  readers: Readers,
  answer: Answer,
): () => void {
  const walk = (path: Foreign, from: unknown = window) =>
    (path as Path).reduce<Foreign>(
      (on, step) =>
        Array.isArray(step) ? on[step[0]](...step.slice(1), judge) : on[step as string],
      from,
    )
  /** @param ok False if a callback reports an error. */
  const judge = (from: unknown, ok?: unknown) => {
    if (from && ok !== false)
      answer(
        name,
        rules.find((rule) =>
          rule.slice(1).every((path) => guard(() => walk(path, from)) === true),
        )?.[0],
      )
  }
  const read = () => {
    guard(() => {
      walk(load)
      load = undefined
    })
    guard(() => judge(walk(state)))
  }
  listen(window, events, read, true)
  if (push)
    readers.set((pushed: Foreign) => {
      if (pushed.event === push) judge(pushed)
      return ''
    }, new WeakMap())
  return read
}

/** The rank of updates. */
const UPDATE = 9

/**
 * Reads the commands of Google Consent Mode: arrays, or the `arguments` of a function. Of each type the command with the
 * highest rank counts, the last one of equal ones: an update, else the default with the most specific region. If the
 * visitor's region is not known, defaults that deny rank above those that grant, and those that grant only in some
 * regions do not count.
 */
function createModeReader(
  consentTypes: readonly string[] | string,
  own: string | undefined,
  answer: Answer,
) {
  const types = `${consentTypes}`.split(/ *, */)
  /** The values of the commands, by rank. Those with a rank that is no index do not count. */
  const ranks: Values[] = []
  /** Defaults whose time to wait for an update is not over. */
  let waiting = 0

  const decide = () => {
    const chosen = ranks[UPDATE]
    const all: Values = Object.assign({}, ...(waiting ? [chosen] : ranks))
    answer(
      'consentMode',
      types.some((type) => chosen?.[type] === 'denied')
        ? 'denied'
        : types.every((type) => all[type] === 'granted')
          ? 'granted'
          : undefined,
    )
  }
  return ({ 0: command, 1: action, 2: values }: Foreign) => {
    if (command === 'consent') {
      const { region, wait_for_update: wait } = values
      const rank =
        action === 'update'
          ? UPDATE
          : action === 'default' &&
            (own
              ? region
                ? region.find((code: string) => own.startsWith(code))?.length
                : 1
              : types.some((type) => values[type] === 'denied')
                ? 2
                : region || 1)
      ranks[rank] = { ...ranks[rank], ...values }
      if (wait) {
        waiting++
        setTimeout(() => {
          waiting--
          decide()
        }, wait)
      }
      decide()
    }
    return ''
  }
}
