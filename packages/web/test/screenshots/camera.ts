import type { BrowserContext, Page } from 'playwright-core'
import type { TestBrowser } from '../browser/browser.ts'
import { isShownLive } from '../browser/screens.ts'

export type Shot = {
  readonly browser: TestBrowser
  readonly context: BrowserContext
  readonly url: string
  readonly format: 'png' | 'webp'
}

/** Lets charts draw and dots move: a picture is taken when this much time has passed after everything was loaded. */
const SETTLE_MS = 2_500
const LOADING = '[aria-busy=true], .skeleton, .world-waiting, .world-view > canvas:not([data-tick])'

export async function shoot({ browser, context, url, format }: Shot): Promise<{ bytes: Buffer; problems: string[] }> {
  const { page, problems } = await browser.open(url, { context })
  await isShownLive(page)
  await page.locator(LOADING).first().waitFor({ state: 'detached', timeout: 120_000 })
  await page.waitForTimeout(SETTLE_MS)
  const bytes = await capture(page, format, 88)
  await page.close()
  return { bytes, problems }
}

/** Playwright itself knows no WebP; Chromium does. */
export async function capture(page: Page, format: 'png' | 'webp', quality: number): Promise<Buffer> {
  const session = await page.context().newCDPSession(page)
  const { data } = await session.send('Page.captureScreenshot', { format, ...(format === 'webp' && { quality }) })
  await session.detach()
  return Buffer.from(data, 'base64')
}
