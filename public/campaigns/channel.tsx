import { Sign } from '../operator/signs.tsx'
import { isType, TYPES } from './model.ts'

/** A channel with its sign. */
export function Channel({ type }: { readonly type: string }) {
  return (
    <span class="channel">
      {isType(type) && <Sign name={type} />}
      {TYPES.get(type) ?? type}
    </span>
  )
}
