import type { InspectorState } from '../debug.ts'
import { guard } from '../lib/guard.ts'
import { now } from '../lib/now.ts'
import { askGateway, type GatewayFacts } from './askGateway.ts'
import type { ConsentFacts } from './describeConsent.ts'
import { toExplanation } from './explain.ts'
import { listSettings, type Setting } from './listSettings.ts'
import { type Model, stateOf } from './model.ts'

/** Keys whose settings are requested. */
const MAX_KEYS = 5
/** An entry's name begins with the event's id, a UUID. */
const ID_LENGTH = 36
/** Of an element's HTML in the JSON, characters. */
const MAX_ELEMENT_TEXT = 200

/** The state of the page for the panel, and for the copy as JSON. */
export type PageFacts = {
  readonly did: string
  readonly scriptVersion: string
  readonly consentState: string | undefined
  /** Undefined if the key does not ask for consent, or until it is known. */
  readonly consent: ConsentFacts | undefined
  readonly keys: readonly {
    readonly key: string
    readonly base: string
    readonly settings: readonly Setting[]
    /** Undefined if the gateway has not answered. */
    readonly gateway: GatewayFacts | undefined
  }[]
  readonly outbox: readonly {
    readonly key: string
    readonly event: string
    readonly ageMs: number
    /** The number of requests of this page. */
    readonly tries: number
  }[]
  /** The number of events that wait in memory for consent. */
  readonly waiting: number
}

export type PageFactsReader = {
  /** Asks the gateway of each key that was not asked. */
  ask(): void
  read(): PageFacts
  /** Everything that the panel knows, as JSON. Without the page's query, which may contain secrets. */
  toJson(): string
}

/**
 * Collects the facts of the page, from the script, the gateways and the model.
 *
 * @param consentOf What is known of the consent now.
 * @param changed A gateway has answered.
 */
export function createPageFacts(
  { helpers, configs, outbox }: InspectorState,
  model: Model,
  consentOf: () => ConsentFacts | undefined,
  changed: () => void,
): PageFactsReader {
  const gateways = new Map<string, GatewayFacts | undefined>()

  const ask = () => {
    for (const { base, key } of [...configs.values()].slice(0, MAX_KEYS)) {
      if (gateways.has(key)) continue
      gateways.set(key, undefined)
      askGateway(base, key).then((facts) => {
        gateways.set(key, facts)
        changed()
      })
    }
  }

  const read = (): PageFacts => ({
    did: helpers.did,
    scriptVersion: helpers.version,
    consentState: helpers.consentState,
    consent: consentOf(),
    keys: [...configs.values()].map((config) => ({
      key: config.key,
      base: config.base,
      settings: listSettings(
        config,
        tagOf(config.key)?.dataset ?? {},
        gateways.get(config.key)?.settings,
      ),
      gateway: gateways.get(config.key),
    })),
    outbox: outbox.all().map(({ name, key, at, body }) => {
      const id = name.slice(0, ID_LENGTH)
      return {
        key,
        event: `${guard(() => JSON.parse(body).event) ?? id}`,
        ageMs: Math.max(0, now() - at),
        tries: model.tries(id, key),
      }
    }),
    waiting: model
      .events()
      .flatMap(({ lives }) => lives)
      .filter(({ steps }) => steps[steps.length - 1]?.kind === 'waits').length,
  })

  const toJson = () =>
    JSON.stringify(
      {
        page: location.origin + location.pathname,
        at: new Date(now()).toISOString(),
        userAgent: navigator.userAgent,
        ...read(),
        events: model
          .events()
          .map(
            ({
              number,
              at,
              operation,
              ownName,
              subject,
              from,
              element,
              pushed,
              isEarlier,
              lives,
            }) => ({
              number,
              at,
              operation,
              ownName,
              subject,
              from,
              element: element?.outerHTML.slice(0, MAX_ELEMENT_TEXT),
              pushed,
              isEarlier,
              lives: lives.map((life) => ({
                key: life.key,
                state: stateOf(life).text,
                payload: life.payload,
                steps: life.steps,
                omitted: life.omitted,
                problem: life.problem && toExplanation(life.problem),
                duplicateOf: life.duplicateOf?.number,
              })),
            }),
          ),
      },
      undefined,
      2,
    )

  return { ask, read, toJson }
}

/** The tag of a key. Null if the script was loaded in another way. */
const tagOf = (key: string): HTMLScriptElement | null =>
  document.querySelector(`script[src*="/t/j/${CSS.escape(key)}"]`)
