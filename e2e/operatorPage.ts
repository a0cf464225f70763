import type { Page } from '@playwright/test'
import type { Gateway } from '../src/gateway/index.ts'
import { expect } from './fixtures.ts'

/** A customer with a REST key, for the operators' pages. */
export type Operated = {
  readonly customerId: string
  readonly trackingKey: string
  readonly restKey: string
  readonly name: string
}

export function addOperated(
  { customers }: Gateway,
  name: string,
  origins: string[] = ['loopback'],
): Operated {
  const { customer, restKey } = customers.add({ name, origins })
  const { customerId, trackingKey } = customer
  return { customerId, trackingKey, restKey, name }
}

/** Fills in the sign-in form that is shown. */
export async function fillLogin(page: Page, { customerId, restKey }: Operated): Promise<void> {
  await page.getByTestId('login-customer').fill(customerId)
  await page.getByTestId('login-key').fill(restKey)
  await page.getByTestId('login-submit').click()
  await expect(page.getByTestId('customer')).toHaveValue(customerId)
}

/** Opens an operators' page of a customer, and signs in. */
export async function openSignedIn(
  page: Page,
  { url }: Gateway,
  path: string,
  operated: Operated,
): Promise<void> {
  await page.goto(`${url}${path}?customer=${operated.customerId}`)
  await fillLogin(page, operated)
}
