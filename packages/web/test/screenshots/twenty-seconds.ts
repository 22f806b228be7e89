import { writeFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import type { TestBrowser } from '../browser/browser.ts'
import { isShownLive } from '../browser/screens.ts'
import { animate, type Frame } from './animated-webp.ts'
import { capture } from './camera.ts'
import { screensOf } from './screens.ts'

const FRAME_MS = 800
const SIZE = { width: 880, height: 550 } as const

/** Twenty seconds of the page: the flow, a topic, a group that falls behind, and the world as it plays. */
export async function recordTwentySeconds(browser: TestBrowser, url: string, file: string): Promise<void> {
  const context = await browser.person({ ...SIZE, colorScheme: 'dark' })
  const screens = new Map((await screensOf(url)).map(({ name, path }) => [name, url + path]))
  const { page } = await browser.open(screens.get('overview') ?? url, { context })
  const frames: Frame[] = []
  for (const [name, seconds] of [
    ['overview', 4],
    ['topic', 4],
    ['group', 4],
    ['world', 8],
  ] as const) {
    await page.goto(screens.get(name) ?? url)
    await isShownLive(page)
    await page.waitForTimeout(1_500)
    frames.push(...(await record(page, (seconds * 1000) / FRAME_MS)))
  }
  await context.close()
  const bytes = animate(frames, SIZE)
  writeFileSync(file, bytes)
  console.log(`${file} ${Math.round(bytes.length / 1000)} kB`)
}

async function record(page: Page, count: number): Promise<Frame[]> {
  const frames: Frame[] = []
  for (let n = 0; n < count; n++) {
    frames.push({ webp: await capture(page, 'webp', 42), milliseconds: FRAME_MS })
    await page.waitForTimeout(FRAME_MS)
  }
  return frames
}
