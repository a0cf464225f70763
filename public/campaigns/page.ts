import type { Customer, PageState } from '../operator/operator.ts'
import type { Place } from './model.ts'

/** What a view asks of the page. */
export type CampaignsPage = {
  readonly draw: () => void
  readonly setState: (state: PageState) => void
  /** The address of a place of the customer watched. */
  href(place: Place): string
  /** Puts into the address where a view has gone by itself: a new entry of the history, or in place of the last. */
  go(place: Place, replace?: boolean): void
  /** Shows another view. */
  open(place: Place): void
  /**
   * Shows the form to sign in where the status of an answer says that its customer may not be seen any more, if it is
   * still the one watched.
   *
   * @returns Whether it says so.
   */
  ends(status: number, customer: Customer): boolean
  /** Says how something ended whose view has been left, while its customer is watched; until the next view. */
  tell(customer: Customer, text: string): void
}
