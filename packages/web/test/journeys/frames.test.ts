import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Tick } from '@tidemark/pipeline'
import type { Page } from 'playwright-core'
import { metadataOf, startWorld } from '../../../server/test/worlds.ts'
import { SKIPPED, TestBrowser } from '../browser/browser.ts'

const SIZE = 1000
const CELLS = 600_000
const LAST = 5

describe('a world of 1000 × 1000', { skip: SKIPPED }, () => {
  it('is drawn, panned and zoomed; frame times and memory are printed', async t => {
    await using world = await startWorld()
    const metadata = metadataOf(world.runId)
    await world.post('/api/v1/ingest/metadata', {
      ...metadata,
      environment: { shape: [SIZE, SIZE], topology: 'torus' },
    })
    for (let tick = 0; tick <= LAST; tick++) await world.ingest([largeTick(world.runId, tick)])
    await world.indexed(LAST)
    await using browser = await TestBrowser.launch()
    const { page, problems } = await browser.open(`${world.url}/runs/${world.runId}?t=0&c=type&at=500,500,1`)
    await page.locator('canvas[data-tick="0"]').waitFor({ timeout: 60_000 })
    t.diagnostic(`panning: ${await framesWhile(page, 'd')}`)
    t.diagnostic(`zooming: ${await framesWhile(page, '+')}`)
    await page.keyboard.press('Home')
    await page.keyboard.press('Space')
    await page.locator(`canvas[data-tick="${LAST}"]`).waitFor({ timeout: 60_000 })
    const session = await page.context().newCDPSession(page)
    await session.send('Performance.enable')
    const { metrics } = await session.send('Performance.getMetrics')
    const heap = metrics.find(({ name }) => name === 'JSHeapUsedSize')?.value ?? 0
    t.diagnostic(`memory after playing: ${(heap / 1e6).toFixed(0)} MB of script objects`)
    assert.ok(heap < 250e6, `${heap} bytes`)
    assert.deepEqual(problems, [])
  })
})

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

function largeTick(runId: string, tick: number): Tick {
  const flatIndex = Int32Array.from({ length: CELLS }, (_, place) => Math.floor((place * SIZE * SIZE) / CELLS))
  return {
    runId,
    tick,
    capturedAt: Date.UTC(2026, 0, 2) + tick,
    cells: {
      flatIndex,
      moleculeType: flatIndex.map((_, place) => 1 + ((place + tick) % 2)),
      moleculeValue: flatIndex.map((_, place) => 1 + (place % 90)),
      ownerId: flatIndex.map(() => 1),
    },
    organisms: [],
  }
}
