import type { TrackingOperation } from '../../contract/events.ts'
import { DATA_LAYER, DATA_LAYER_NAME, DATA_LAYER_PREFIX } from '../../contract/settings.ts'
import type { Config } from '../config.ts'
import { decodeEntities } from '../lib/decodeEntities.ts'
import { guard } from '../lib/guard.ts'
import { listen } from '../lib/listen.ts'
import type { Notices } from '../notices.ts'
import type { Part, Reader } from '../parts.ts'
import { schemas } from '../schemas.ts'
import type { Track } from '../track.ts'

/** Whether a key wants what plugins push. */
const wantsPlugins = ({ dataLayer = DATA_LAYER }: Config) => dataLayer

/**
 * The bridge to what is pushed into `dataLayer`: by shop plugins, and for other readers by anybody.
 *
 * The page's array is made where there is none, and never replaced; its `push` is wrapped, and others
 * may wrap it before or after. There is no cursor into the array, since tag managers cut it: each
 * object is known by itself. An array that the page puts in its place is followed at once, by an
 * accessor. Where the page declared its array with `var` there can be none, and the new array is found
 * when the page has loaded, at a click, and when the page is left.
 *
 * The array's name and the prefix of its events are facts of the page: the first key that wants the
 * bridge says them. Whether a key wants the plugins' events is a setting of each key.
 *
 * @returns To be called for each key, once its readers are in the list: reads what was pushed before,
 * in order, for readers that have not read it, and from then on what comes.
 */
export const dataLayer: Part = (track, _configs, notices, readers) => {
  const page = window as unknown as { [name: string]: unknown }
  let name = ''
  let layer: unknown
  let wrapped: unknown

  /** @param again It lies in the array, and may have been read when it was pushed. */
  const read = (push: object, again?: boolean) => {
    // What is no object, or one whose getters throw, tells nothing.
    for (const [reader, known] of readers)
      guard(() => {
        const before = known.get(push)
        if (!again || before === undefined) known.set(push, reader(push, before))
      })
  }

  const follow = () => {
    try {
      // What has the name and is no array, such as an element, is the page's own business.
      layer = page[name] ??= []
      if (!Array.isArray(layer)) return
      for (const push of layer) read(push, true)
      if (layer === wrapped) return
      wrapped = layer
      const { push } = layer
      layer.push = function (...pushes) {
        for (const pushed of pushes) read(pushed)
        return push.apply(this, pushes)
      }
      Object.defineProperty(page, name, {
        get: () => layer,
        set(next) {
          layer = next
          follow()
        },
      })
    } catch {
      // Frozen, or declared with `var`: what was in it has been read.
    }
  }

  return (config) => {
    if (!name && (wantsPlugins(config) || config.ga4)) {
      name = config.dataLayerName ?? DATA_LAYER_NAME
      readers.set(createPluginReader(track, notices, config), new WeakMap())
      listen(window, 'load click pagehide', follow, true)
    }
    if (name) follow()
  }
}

type Fields = { [name: string]: unknown }

/** Fields that some operation takes, and what some platforms call two of them. */
const FIELDS =
  'product_id quantity qty search_term email_address firstname lastname phone tmphone'.split(' ')

/** Text without white space at its ends, a number as text; what is empty, or 0, or neither is absent. */
const clean = (value: unknown): unknown =>
  (typeof value === 'string' && value.trim()) ||
  (typeof value === 'number' && value && `${value}`) ||
  undefined

/**
 * Reads the events of shop plugins: the helpers' usual names behind a prefix, and four of their own
 * (docs/decisions.md, "Plugin pushes"). What is not sent is told by its name: an
 * order, a phone number that waits, a name that there is none of.
 *
 * @param config The first key's: its prefix stands before the names view_category and view_brand too.
 */
function createPluginReader(
  track: Track,
  notices: Notices,
  { dataLayerPrefix = DATA_LAYER_PREFIX, eventPrefix = '' }: Config,
): Reader {
  /** The page's last set_email, and a phone number that waits for the next. */
  let email: Fields | undefined
  let phone: unknown

  return (push, before) => {
    const { event } = push as Fields
    if (typeof event !== 'string' || !event.startsWith(dataLayerPrefix)) return ''
    let name = event.slice(dataLayerPrefix.length)

    // Copies without a prototype: what the page put into Object.prototype is no field of a push.
    const given: Fields = { __proto__: null, ...push }
    // A product without variations is its own.
    const own = { id: given.product_id, sku: given.product_id }
    const { id, sku }: Fields = { __proto__: null, ...((given.variation ?? own) as object) }
    let fields: Fields = {
      __proto__: null,
      variation: { __proto__: null, id: clean(id), sku: clean(sku) },
    }
    for (const field of FIELDS) fields[field] = clean(given[field])
    const said = name + JSON.stringify(fields)
    if (said === before) return said

    // No platform gives a wishlist's line a quantity.
    fields.quantity = +((fields.quantity ?? fields.qty ?? /wish/.test(name)) as string)
    fields.search_term = decodeEntities(`${fields.search_term ?? ''}`)
    fields.phone ??= fields.tmphone

    if (name === 'set_phone') {
      phone = fields.phone ?? phone
      if (email && phone) {
        name = 'set_email'
        fields = { ...email, phone }
      }
    }
    let operation = (Object.keys(schemas) as TrackingOperation[]).find(
      (named) => named.replace(/[A-Z]/g, '_$&').toLowerCase() === name,
    )
    if (/^view_(category|brand)$/.test(name)) {
      operation = 'viewHomepage'
      fields.event = eventPrefix + name
    }
    const isEmail = operation === 'setEmail'
    if (isEmail) fields.phone ??= phone
    if (operation) {
      const sighting = { from: 'dataLayer', where: push, only: wantsPlugins } as const
      const outcome = track(operation, fields, sighting)
      if (isEmail && (outcome.ok || outcome.error === 'duplicate')) {
        email = fields
        phone = undefined
      }
    } else if (dataLayerPrefix)
      // Without a prefix everybody's events come here.
      notices.tell('dropped', { operation: name, where: push, reason: 'invalid' })
    return said
  }
}
