import type { KeySettings } from './settings.ts'

/**
 * What happens before the visitor has answered. A key with sources of consent that does not say it waits for them:
 * whoever sets a source wants it to be asked.
 */
export const consentOf = ({
  consent,
  consentSources,
}: KeySettings): NonNullable<KeySettings['consent']> =>
  consent ?? (consentSources?.length ? 'required' : 'granted')
