import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { RUN_ID, startWorld, type World } from '../../../server/test/worlds.ts'
import { SKIPPED, TestBrowser } from '../browser/browser.ts'
import { sticksOut } from '../browser/fit.ts'
import { isShownLive } from '../browser/screens.ts'
import { fillTopics, fillWorld, screensOf } from '../browser/seed.ts'

const SIZES = {
  '360 px': { width: 360, height: 740 },
  // What a person who zooms to 200 % has of a window of 1280 × 900.
  '200 % zoom': { width: 640, height: 450 },
  '768 px': { width: 768, height: 1024 },
  '2560 px': { width: 2560, height: 1440 },
}

describe('the look of every screen', { skip: SKIPPED }, () => {
  let world: World
  let browser: TestBrowser
  let filled: AsyncDisposable

  before(async () => {
    world = await startWorld()
    filled = await fillTopics(world.tm)
    await fillWorld(world)
    browser = await TestBrowser.launch()
  })

  after(async () => {
    await browser?.[Symbol.asyncDispose]()
    await filled?.[Symbol.asyncDispose]()
    await world?.[Symbol.asyncDispose]()
  })

  for (const path of screensOf(RUN_ID)) {
    it(`${path} fits the window from 360 to 2560 px, and at 200 % zoom`, async () => {
      const { page } = await browser.open(world.url + path)
      await isShownLive(page)
      await page.locator('main h1').waitFor({ state: 'attached' })
      for (const [name, viewport] of Object.entries(SIZES)) {
        await page.setViewportSize(viewport)
        await page.waitForTimeout(200)
        assert.deepEqual(await sticksOut(page), [], name)
      }
      await page.context().close()
    })
  }

  it('stands still for those who want no motion', async () => {
    const context = await browser.person({ more: { reducedMotion: 'reduce' } })
    const { page } = await browser.open(`${world.url}/`, { context })
    await isShownLive(page)
    await page.locator('.flow').waitFor()
    const moving = await page.evaluate(() => {
      type Animation = { readonly playState: string; readonly effect: { getTiming(): { duration: number } } }
      const { document } = globalThis as unknown as { document: { getAnimations(): Animation[] } }
      const isSeen = ({ playState, effect }: Animation) =>
        playState === 'running' && Number(effect.getTiming().duration) > 1
      return document.getAnimations().filter(isSeen).length
    })
    assert.equal(moving, 0)
    assert.equal(await page.locator('.flow-dots:visible').count(), 0)
    await context.close()
  })

  it('keeps states and borders where the system chooses the colours', async () => {
    const context = await browser.person({ more: { forcedColors: 'active' } })
    const { page, problems } = await browser.open(`${world.url}/topics/orders/groups/email`, { context })
    await isShownLive(page)
    const mark = page.locator('main .mark svg').first()
    await mark.waitFor()
    const style = await mark.evaluate(svg => {
      const { getComputedStyle } = globalThis as unknown as {
        getComputedStyle(of: unknown): { color: string; visibility: string }
      }
      const { color, visibility } = getComputedStyle(svg)
      return { color, visibility }
    })
    assert.equal(style.visibility, 'visible')
    assert.deepEqual(problems, [])
    await context.close()
  })
})
