import { hueOf } from './hues.ts'

/** The dot of a device. Its hue is set by the CSSOM, which a strict style-src allows. */
export function Dot({ did }: { readonly did: string }) {
  return <i class="dot" style={{ '--hue': String(hueOf(did)) }} />
}
