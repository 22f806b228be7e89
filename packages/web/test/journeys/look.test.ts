import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { until } from '../../../../testing/until.ts'
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
        let found: readonly string[] = []
        const fits = async (): Promise<boolean> => {
          found = await sticksOut(page)
          return found.length === 0
        }
        // What is drawn to its width is drawn anew a moment after the window has changed.
        await until(fits, { what: () => `${found.join(', ')} to fit ${name}`, timeout: 5_000 })
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

  it('keeps states, lanes and borders visible where the system chooses the colours', async () => {
    const context = await browser.person({ more: { forcedColors: 'active' } })
    const { page, problems } = await browser.open(`${world.url}/topics/orders`, { context })
    await isShownLive(page)
    await page.locator('.lane-ok .lane-done').first().waitFor()
    assert.ok(await page.evaluate("matchMedia('(forced-colors: active)').matches"))
    const low = await page.evaluate(invisibleParts, [
      // What is drawn, and on what.
      ['main .mark svg', 'color', 'main'],
      ['.lane-ok .lane-done', 'backgroundColor', '.lane-ok .lane-bed'],
      ['main button', 'borderTopColor', 'main'],
      ['main .panel', 'borderTopColor', 'main'],
      ['main h1', 'color', 'main'],
    ] as const)
    assert.deepEqual(low, [])
    assert.deepEqual(problems, [])
    await context.close()
  })
})

/** Runs in the page: the parts that are missing, or whose colour has a contrast below 3 : 1 to what is behind them. */
function invisibleParts(parts: readonly (readonly [string, string, string])[]): string[] {
  type Style = Record<string, string>
  const { document, getComputedStyle } = globalThis as unknown as {
    document: {
      querySelector(of: string): { parentElement: unknown } | null
      createElement(name: 'canvas'): {
        getContext(kind: '2d'): {
          fillStyle: string
          fillRect(...box: number[]): void
          getImageData(...box: number[]): { data: number[] }
        }
      }
    }
    getComputedStyle(of: unknown): Style
  }
  const context = document.createElement('canvas').getContext('2d')
  const lightness = (colour: string): number => {
    context.fillStyle = colour
    context.fillRect(0, 0, 1, 1)
    const [red = 0, green = 0, blue = 0] = [...context.getImageData(0, 0, 1, 1).data]
      .map(value => value / 255)
      .map(value => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  const behind = (element: { parentElement: unknown } | null): string => {
    const colour = element === null ? 'rgb(255, 255, 255)' : (getComputedStyle(element).backgroundColor ?? '')
    const isClear = /^rgba\(.*, 0\)$/.test(colour)
    return isClear ? behind((element as { parentElement: { parentElement: unknown } | null }).parentElement) : colour
  }
  return parts.flatMap(([what, property, on]) => {
    const [part, ground] = [document.querySelector(what), document.querySelector(on)]
    if (part === null || ground === null) return [`${what} is missing`]
    const style = getComputedStyle(part)
    if (property === 'borderTopColor' && style.borderTopStyle === 'none') return [`${what} has no border`]
    const [one, other] = [lightness(style[property] ?? ''), lightness(behind(ground))]
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05)
    return contrast < 3 ? [`${what}: ${contrast.toFixed(1)} : 1`] : []
  })
}
