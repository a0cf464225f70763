import type { TrackingOperation } from '../../contract/payloads.ts'
import { DATA_LAYER, DATA_LAYER_NAME, DATA_LAYER_PREFIX } from '../../contract/settings.ts'
import type { Config } from '../config.ts'
import { decodeEntities } from '../lib/decodeEntities.ts'
import { guard } from '../lib/guard.ts'
import { listen } from '../lib/listen.ts'
import type { Notices } from '../notices.ts'
import type { Part, Reader } from '../parts.ts'
import { schemas } from '../schemas.ts'
import type { Track } from '../track.ts'

/** Whether a key reads what plugins push. */
const wantsPlugins = ({ dataLayer = DATA_LAYER }: Config) => dataLayer

/**
 * Passes each object that is pushed into the global `dataLayer` to the readers: the reader of shop plugins in this file,
 * and those that other parts have added: GA4, consent.
 *
 * Makes the array if there is none, and never replaces it. Wraps its `push`; others may wrap it before or after. Tag
 * managers shorten the array, so the position in it means nothing; each object is remembered by itself. If the page
 * assigns another array, an accessor notices that. A variable declared with `var` can have no accessor; then the new
 * array is found when the page has loaded, at a click, and when the page is left.
 *
 * Name and prefix are taken from the first key that needs this part. Each key has its own setting for the events of
 * plugins.
 *
 * @returns To be called for each key when its readers are added. Reads the earlier pushes in order, and later ones when
 * they are pushed.
 */
export const dataLayer: Part = (track, _configs, notices, readers) => {
  const page = self as unknown as { [name: string]: unknown }
  let name = ''
  let layer: unknown
  let wrapped: unknown

  /** @param again The object is in the array, and may have been read when it was pushed. */
  const read = (push: object, again?: boolean) => {
    // Throws for values that are not objects, and for getters that throw.
    for (const [reader, known] of readers)
      guard(() => {
        const before = known.get(push)
        if (!again || before === undefined) known.set(push, reader(push, before))
      })
  }

  const follow = () => {
    try {
      // The name may belong to something else, such as an element.
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
      // The array is frozen, or declared with `var`. Its content has been read.
    }
  }

  return (config) => {
    if (!name && (wantsPlugins(config) || readers.size)) {
      name = config.dataLayerName ?? DATA_LAYER_NAME
      readers.set(createPluginReader(track, notices, config), new WeakMap())
      listen(self, 'load click pagehide', follow, true)
    }
    if (name) follow()
  }
}

type Fields = { [name: string]: unknown }

/** Fields of the operations, and other names that plugins use for two of them. */
const FIELDS =
  /* @__PURE__ */ 'product_id quantity qty search_term email_address firstname lastname phone tmphone'.split(
    ' ',
  )

/** Trimmed text, or a number as text. Undefined for empty text, 0, and everything else. */
const clean = (value: unknown): unknown =>
  (typeof value === 'string' && value.trim()) ||
  (typeof value === 'number' && value && `${value}`) ||
  undefined

/**
 * Reads the events of shop plugins: the usual event names with a prefix, and four others
 * (docs/decisions.md, "Plugin pushes"). Emits a notice for each event that is not sent: an
 * order, a phone number without an e-mail address, an unknown name.
 *
 * @param config That of the first key. Its `eventPrefix` is used for view_category and view_brand.
 */
function createPluginReader(
  track: Track,
  notices: Notices,
  { dataLayerPrefix = DATA_LAYER_PREFIX, eventPrefix = '' }: Config,
): Reader {
  /** The last set_email of the page, and a phone number for the next one. */
  let email: Fields | undefined
  let phone: unknown

  return (push, before) => {
    const { event } = push as Fields
    if (typeof event !== 'string' || !event.startsWith(dataLayerPrefix)) return ''
    let name = event.slice(dataLayerPrefix.length)

    // Copies without a prototype, because pages extend Object.prototype.
    const given: Fields = { __proto__: null, ...push }
    // A product without variations is its own variation.
    const own = { id: given.product_id, sku: given.product_id }
    const { id, sku }: Fields = { __proto__: null, ...((given.variation ?? own) as object) }
    let fields: Fields = {
      __proto__: null,
      variation: { __proto__: null, id: clean(id), sku: clean(sku) },
    }
    for (const field of FIELDS) fields[field] = clean(given[field])
    const text = name + JSON.stringify(fields)
    if (text === before) return text

    // Plugins push lines of a wishlist without a quantity.
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
      const options = { from: 'dataLayer', where: push, only: wantsPlugins } as const
      const outcome = track(operation, fields, options)
      if (isEmail && (outcome.ok || outcome.error === 'duplicate')) {
        email = fields
        phone = undefined
      }
    } else if (dataLayerPrefix)
      // Without a prefix, this may be any event.
      notices.emit('dropped', { operation: name, where: push, reason: 'invalid' })
    return text
  }
}
