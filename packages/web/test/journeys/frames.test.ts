import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { SKIPPED, TestBrowser } from '../browser/browser.ts'
import { startLargeWorld } from '../playing/large-world.ts'

/** More than fit into the page's 80 MB: what is played is loaded anew in every round. `npm run playing` plays for longer. */
const TICKS = 48
const ROUNDS = 2
const MOST_KEPT = 85 * 1024 ** 2

describe('a world of 1000 × 1000', { skip: SKIPPED }, () => {
  it('is drawn, panned, zoomed and played over and over; frame times and memory are printed', async t => {
    await using world = await startLargeWorld(TICKS)
    await using browser = await TestBrowser.launch()
    const { page, problems } = await browser.open(`${world.url}/runs/${world.runId}?t=0&c=type&at=500,500,1`)
    await page.locator('canvas[data-tick="0"]').waitFor({ timeout: 60_000 })
    t.diagnostic(`panning: ${await framesWhile(page, 'd')}`)
    t.diagnostic(`zooming: ${await framesWhile(page, '+')}`)
    for (let round = 1; round <= ROUNDS; round++) {
      const { bytes, told } = await playOnce(page)
      t.diagnostic(`round ${round}: ${told}`)
      assert.ok(bytes > 0 && bytes < MOST_KEPT, `${bytes} bytes of ticks`)
    }
    assert.deepEqual(problems, [])
  })
})

/** From the first tick to the last as fast as they come. */
async function playOnce(page: Page): Promise<{ readonly bytes: number; readonly told: string }> {
  await page.keyboard.press('Home')
  await page.locator('canvas[data-tick="0"]').waitFor({ timeout: 60_000 })
  const begun = performance.now()
  await page.keyboard.press('Space')
  await page.locator(`canvas[data-tick="${TICKS - 1}"]`).waitFor({ timeout: 300_000 })
  const seconds = (performance.now() - begun) / 1000
  const canvas = page.locator('canvas[data-tick]').first()
  const [kept, decodeMs, drawMs] = await Promise.all(
    ['data-kept', 'data-decode-ms', 'data-draw-ms'].map(name => canvas.getAttribute(name)),
  )
  return {
    bytes: Number(/(\d+) bytes/.exec(kept ?? '')?.[1]),
    told: `${(TICKS / seconds).toFixed(1)} ticks/s, ${kept} kept; last tick decoded and packed in ${decodeMs} ms, drawn in ${drawMs} ms`,
  }
}

/** Times between frames while a key is held. */
async function framesWhile(page: Page, key: string): Promise<string> {
  const measured = page.evaluate(async () => {
    const times: number[] = []
    const { requestAnimationFrame: next } = globalThis as unknown as {
      requestAnimationFrame(draw: (at: number) => void): void
    }
    await new Promise<void>(resolve => {
      const begun = performance.now()
      const draw = (at: number): void => {
        times.push(at)
        if (at - begun > 3_000) resolve()
        else next(draw)
      }
      next(draw)
    })
    const between = times.slice(1).map((at, place) => at - (times[place] ?? at))
    between.sort((one, other) => one - other)
    const share = (part: number): number => between[Math.floor(between.length * part)] ?? 0
    return { median: share(0.5), slow: share(0.95), count: between.length }
  })
  for (let press = 0; press < 30; press++) await page.keyboard.press(key)
  const { median, slow, count } = await measured
  return `${count} frames in 3 s, median ${median.toFixed(1)} ms, 95 % within ${slow.toFixed(1)} ms`
}
