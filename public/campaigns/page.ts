import type { Customer, PageState } from '../operator/operator.ts'
import type { Place } from './model.ts'

/** The functions of the page that its views call. */
export type CampaignsPage = {
  readonly draw: () => void
  readonly setState: (state: PageState) => void
  /** The address of a place of the customer watched. */
  href(place: Place): string
  /** Changes the address when a view has changed its own place: adds an entry to the history, or replaces the last. */
  go(place: Place, replace?: boolean): void
  /** Shows another view. */
  open(place: Place): void
  /**
   * Shows the sign-in form if the status of an answer means that the operator may no longer see the customer, and the
   * customer is still watched.
   *
   * @returns Whether the status means that.
   */
  endIfDenied(status: number, customer: Customer): boolean
  /** Shows a notice until the next view opens, if the customer is still watched. */
  notify(customer: Customer, text: string): void
}
