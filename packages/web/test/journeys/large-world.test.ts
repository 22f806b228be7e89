import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { metadataOf } from '../../../server/test/worlds.ts'
import { kindsOf } from '../../src/page/world/kinds.ts'
import { colourTable, indexOf, lightOf } from '../../src/page/world/palette.ts'
import { SKIPPED, TestBrowser } from '../browser/browser.ts'
import { SQLITE } from '../browser/engines.ts'
import { startWorldOf, upTo } from '../browser/world-of.ts'

/** More cells than are loaded as whole ticks. */
const SHAPE = [1_600, 1_200]
const SCALE = 16
const KINDS = kindsOf(metadataOf('').moleculeTypes)
const TABLE = colourTable('type', { isDark: true })
const colourOf = (type: number, value: number): number => TABLE[indexOf(0, KINDS[type] ?? 0, lightOf(value))] ?? 0

describe('a world that is too large to be loaded whole', { skip: SKIPPED }, () => {
  it('is drawn reduced and says so, plays, and shows its cells where one zooms in', async () => {
    await using world = await startWorldOf(SQLITE, { shape: SHAPE, ticks: upTo(8) })
    await using browser = await TestBrowser.launch()
    const { page, problems } = await browser.open(`${world.url}/runs/${world.runId}?t=0&c=type`)
    await page.locator('canvas[data-tick="0"]').waitFor()
    await page.getByText('showing 1 of 4 cells').waitFor()
    await page.keyboard.press('Space')
    await page.locator('canvas[data-tick="8"]').waitFor()
    assert.deepEqual(problems, [])

    const { page: near } = await browser.open(`${world.url}/runs/${world.runId}?t=8&c=type&at=5,5,${SCALE}`)
    await near.locator('canvas[data-tick="8"]').waitFor()
    // The note goes when the cells themselves are drawn.
    await near.getByText(/showing 1 of/).waitFor({ state: 'detached' })
    const { body } = await world.get(`/api/v1/runs/${world.runId}/environment/8?region=0,0:9,0`, {
      accept: 'application/json',
    })
    const cells = new Map<number, number>(
      body.flatIndex.map((flat: number, slot: number) => [
        flat,
        colourOf(body.moleculeType[slot], body.moleculeValue[slot]),
      ]),
    )
    const expected = Array.from({ length: 10 }, (_, x) => cells.get(x) ?? colourOf(0, 0))
    assert.equal(new Set(expected).size, 2, 'some cells of the row are empty')
    assert.deepEqual(await firstRow(near), expected)
  })
})

type Context = { getImageData(x: number, y: number, width: 1, height: 1): { readonly data: Uint8Array } }
type Canvas = { readonly width: number; readonly height: number; getContext(kind: '2d'): Context }

/** The pixel in the middle of each of the first ten cells; the view looks at (5, 5). */
async function firstRow(page: Page): Promise<number[]> {
  return await page.locator('canvas[data-tick]').evaluate((element, scale) => {
    const canvas = element as unknown as Canvas
    return Array.from({ length: 10 }, (_, x) => {
      const [left, top] = [canvas.width / 2 + (x + 0.5 - 5) * scale, canvas.height / 2 + (0.5 - 5) * scale]
      const [red = 0, green = 0, blue = 0, alpha = 0] = canvas
        .getContext('2d')
        .getImageData(Math.floor(left), Math.floor(top), 1, 1).data
      return alpha * 2 ** 24 + (blue << 16) + (green << 8) + red
    })
  }, SCALE)
}
