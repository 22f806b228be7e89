import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { encodeCells } from '@tidemark/pipeline'
import type { Page } from 'playwright-core'
import { decodeCells } from '../../src/page/world/decode.ts'
import { FramePacker } from '../../src/page/world/packer.ts'
import { planeOf } from '../../src/page/world/plane.ts'
import { SKIPPED, TestBrowser } from '../browser/browser.ts'
import { largeTick, SIZE, startLargeWorld } from '../playing/large-world.ts'

/** More than fit into the page's 56 MB: what is played is loaded anew in every round. `npm run playing` plays for longer. */
const TICKS = 48
const ROUNDS = 2
const MOST_KEPT = 60 * 1024 ** 2
/** Of processor time, which other work on the machine does not lengthen. */
const DECODE_MS = 20

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

  it('is decoded and packed in 20 ms a tick, also where every cell changes', t => {
    const bytes = Array.from({ length: 8 }, (_, tick) => encodeCells(largeTick('run', tick).cells))
    const plane = planeOf([SIZE, SIZE], null, null)
    const packer = new FramePacker()
    const work = (ticks: number): number => {
      const { user } = process.cpuUsage()
      for (let tick = 0; tick < ticks; tick++) {
        const cells = bytes[tick % bytes.length] ?? new Uint8Array(0)
        packer.pack(over => decodeCells(cells, tick, [SIZE, SIZE], plane, over))
      }
      return (process.cpuUsage().user - user) / 1000 / ticks
    }
    work(TICKS)
    const ms = work(TICKS)
    t.diagnostic(`decoded and packed in ${ms.toFixed(1)} ms of processor time a tick`)
    assert.ok(ms <= DECODE_MS, `${ms} ms`)
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
