import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { RUN_ID, startWorld, type World } from '../../../server/test/worlds.ts'
import { SKIPPED, TestBrowser } from '../browser/browser.ts'
import { fillTopics, fillWorld } from '../browser/seed.ts'

/** Of each screen a part that its skeleton must stand in for, as a selector that finds it before and after. */
const SCREENS = [
  ['/', '.overview > .panel.needs'],
  ['/', '.overview > .panel.pipeline'],
  ['/topics', '.main .panel'],
  ['/topics/orders', '.beside > .stack > .panel'],
  ['/topics/orders/groups/email', '.main .panel'],
  ['/topics/orders/groups/email', '.main .charts > .panel:last-child'],
  ['/topics/orders/groups/email', '.main .columns > .panel'],
  ['/services', '.main .services > :first-child'],
  ['/runs', '.main .cards :is(.panel)'],
  [`/runs/${RUN_ID}?t=5`, '.world-view'],
] as const

/** A heading of one line may be a little higher than the bar in its place. */
const TOLERANCE_PX = 12

type Place = { readonly left: number; readonly top: number; readonly width: number }

describe('while a screen is loading', { skip: SKIPPED }, () => {
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

  for (const [path, part] of SCREENS) {
    // How far down it is depends on how much needs somebody.
    const sides: readonly (keyof Place)[] = part.endsWith('.pipeline') ? ['left', 'width'] : ['left', 'top', 'width']
    it(`${path} has ${part} where it stays`, async () => {
      const context = await browser.person({ width: 1440, height: 900 })
      const held = Promise.withResolvers<void>()
      // Figures wait until the skeleton was looked at; who one is, the page learns at once.
      await context.route(/\/api\/v1\/(events|overview|pipeline|runs)/, async route => {
        await held.promise
        await route.continue()
      })
      const { page } = await browser.open(world.url + path, { context })
      await page
        .locator(`.skeletons[aria-busy=true] ${part.replace('.main ', '')}`)
        .first()
        .waitFor()
      const before = await placeOf(page, part)
      held.resolve()
      await page.locator('main h1').waitFor({ state: 'attached' })
      await page.locator(part).first().waitFor()
      const after = await placeOf(page, part)
      for (const side of sides) {
        const by = Math.abs(before[side] - after[side])
        assert.ok(by <= TOLERANCE_PX, `${side} ${before[side]} while loading, ${after[side]} afterwards`)
      }
      await context.close()
    })
  }

  it('a world without its first tick says so, and claims nothing about it', async () => {
    const context = await browser.person()
    const held = Promise.withResolvers<void>()
    await context.route(/\/(environment|organisms)\b/, async route => {
      await held.promise
      await route.continue()
    })
    const { page } = await browser.open(`${world.url}/runs/${RUN_ID}?t=5`, { context })
    await page.getByText('Loading the world').waitFor()
    assert.equal(await page.locator('.world-view > canvas').isVisible(), false, 'a canvas without a picture is black')
    assert.equal(await page.getByText(/\d alive|^others$/).count(), 0)
    held.resolve()
    await page.locator('canvas[data-tick="5"]').waitFor()
    await page.getByText('2 alive').first().waitFor()
    assert.equal(await page.getByText('Loading the world').count(), 0)
    await context.close()
  })
})

async function placeOf(page: Page, part: string): Promise<Place> {
  const box = await page.locator(part).first().boundingBox()
  assert.ok(box !== null)
  return { left: box.x, top: box.y, width: box.width }
}
