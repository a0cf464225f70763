import { object } from 'valibot'
import {
  optionalAttributes,
  optionalDate,
  optionalText,
  optionalTexts,
  optionalTime,
  trimmedEmail,
} from './serverFields.ts'

/** The most tags that one call adds to a subscriber. */
export const MAX_TAGS = 100
/** The most channels in one call. */
export const MAX_CHANNELS = 20

const channels = optionalTexts(MAX_CHANNELS)

/** Body of addSubscriber. */
export const addSubscriberSchema = object({
  email: trimmedEmail,
  name: optionalText,
  firstname: optionalText,
  lastname: optionalText,
  phone: optionalText,
  add_tags: optionalTexts(MAX_TAGS),
  city: optionalText,
  country: optionalText,
  birthday: optionalDate,
  channels,
  attributes: optionalAttributes,
})

/** Body of removeSubscriber. */
export const removeSubscriberSchema = object({ email: trimmedEmail, channels })

/** Query of unsubscribedEmails. */
export const unsubscribedEmailsSchema = object({ date_from: optionalTime, date_to: optionalTime })
