import type { ConsentReader } from '../../contract/consentTools.ts'

/**
 * Reads Global Privacy Control (https://w3c.github.io/gpc/) and Do Not Track
 * (https://www.w3.org/TR/tracking-dnt/#js-dom), as the consent part of the script does.
 */
export const signalReader = ({
  gpc = true,
  dnt,
}: {
  readonly gpc?: boolean | undefined
  readonly dnt?: boolean | undefined
}): ConsentReader => ({
  name: 'signal',
  events: '',
  state: ['navigator'],
  rules: [
    ...(gpc ? [['denied', ['globalPrivacyControl']] as const] : []),
    ...(dnt ? [['denied', ['doNotTrack', ['startsWith', '1']]] as const] : []),
  ],
})
