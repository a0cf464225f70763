/**
 * A copy of an object's own fields, without a prototype: what a page adds to `Object.prototype` is not
 * in it, and a later change by the page does not reach it. Throws where a getter of the page's does.
 */
export const own = (value: unknown): { [name: string]: unknown } =>
  Object.assign(Object.create(null), value)
