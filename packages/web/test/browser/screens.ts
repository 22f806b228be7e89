import type { Page } from 'playwright-core'

/** A figure by the name above it. */
export async function factIs(page: Page, name: string, value: RegExp): Promise<void> {
  await page
    .locator('.fact', { has: page.locator('dt', { hasText: name }) })
    .locator('dd', { hasText: value })
    .first()
    .waitFor()
}

/** The badge at the top: figures arrive. */
export async function isShownLive(page: Page): Promise<void> {
  await page.locator('.connection', { hasText: 'live' }).waitFor()
}
