import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { startWorld, type World } from '../../../server/test/worlds.ts'
import { SKIPPED, TestBrowser, type Visit } from '../browser/browser.ts'
import { sticksOut } from '../browser/fit.ts'
import { isShownLive } from '../browser/screens.ts'
import { fillTopics, fillWorld, screensOf } from '../browser/seed.ts'

const SIZES: { readonly [name: string]: Visit } = {
  '360 px': { width: 360, height: 740 },
  '768 px': { width: 768, height: 1024 },
  '2560 px': { width: 2560, height: 1440 },
  // What a person who zooms to 200 % has of a window of 1280 × 900.
  '200 % zoom': { width: 640, height: 450, more: { deviceScaleFactor: 2 } },
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

  for (const [name, visit] of Object.entries(SIZES)) {
    it(`fits the window at ${name}`, async () => {
      const context = await browser.person(visit)
      const found: string[] = []
      for (const path of screensOf(world.runId)) {
        const { page } = await browser.open(world.url + path, { context })
        await isShownLive(page)
        await page.locator('main h1').waitFor()
        found.push(...(await sticksOut(page)).map(element => `${path}: ${element}`))
        await page.close()
      }
      await context.close()
      assert.deepEqual(found, [])
    })
  }

  it('stands still for those who want no motion', async () => {
    const context = await browser.person({ more: { reducedMotion: 'reduce' } })
    const { page } = await browser.open(`${world.url}/`, { context })
    await isShownLive(page)
    await page.locator('svg.flow').waitFor()
    const moving = await page.evaluate(() => {
      type Animation = { readonly playState: string; readonly effect: { getTiming(): { duration: number } } }
      const { document } = globalThis as unknown as { document: { getAnimations(): Animation[] } }
      const isSeen = ({ playState, effect }: Animation) =>
        playState === 'running' && Number(effect.getTiming().duration) > 1
      return document.getAnimations().filter(isSeen).length
    })
    assert.equal(moving, 0)
    assert.equal(await page.locator('svg.flow animateMotion').count(), 0)
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
