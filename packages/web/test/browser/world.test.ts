import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { metadataOf, ticksOf, type World } from '../../../server/test/worlds.ts'
import { kindsOf } from '../../src/page/world/kinds.ts'
import { colourTable, indexOf, lightOf } from '../../src/page/world/palette.ts'
import { SKIPPED, TestBrowser, type Watched } from './browser.ts'
import { ENGINES } from './engines.ts'
import { startWorldOn } from './world-on.ts'

const LAST = 12
const SCALE = 16
const TABLE = colourTable('type', { isDark: true })
const KINDS = kindsOf(metadataOf('').moleculeTypes)

for (const engine of ENGINES) {
  describe(`a world in a browser, on ${engine.name}`, { skip: SKIPPED }, () => {
    let world: World
    let browser: TestBrowser

    before(async () => {
      world = await startWorldOn(engine)
      await world.post('/api/v1/ingest/metadata', metadataOf(world.runId))
      await world.ingest(ticksOf(world.runId, 0, LAST))
      await world.indexed(LAST)
      browser = await TestBrowser.launch()
    })

    after(async () => {
      await browser?.[Symbol.asyncDispose]()
      await world?.[Symbol.asyncDispose]()
    })

    const visit = async (query: string): Promise<Watched> =>
      await browser.open(`${world.url}/runs/${world.runId}?${query}`)

    it('draws the cells that the API gives, tick by tick', async () => {
      const { page, problems } = await visit(`t=4&c=type&at=5,5,${SCALE}`)
      for (const tick of [4, 5, 6]) {
        await page.locator(`canvas[data-tick="${tick}"]`).waitFor()
        const { body } = await world.get(`/api/v1/runs/${world.runId}/environment/${tick}`, {
          accept: 'application/json',
        })
        const expected = new Map<number, number>(
          body.flatIndex.map((flat: number, slot: number) => [
            flat,
            colourOf(body.moleculeType[slot], body.moleculeValue[slot]),
          ]),
        )
        const drawn = await page.evaluate(coloursOfCells, { size: 10, scale: SCALE })
        assert.deepEqual(
          drawn,
          Array.from({ length: 100 }, (_, flat) => expected.get(flat) ?? colourOf(0, 0)),
          `tick ${tick}`,
        )
        await page.keyboard.press('ArrowRight')
      }
      assert.deepEqual(problems, [])
    })

    it('plays to the end, and follows the run live', async () => {
      const { page, problems } = await visit('t=0')
      await page.locator('canvas[data-tick="0"]').waitFor()
      await page.keyboard.press('Space')
      await page.locator(`canvas[data-tick="${LAST}"]`).waitFor()
      await page.keyboard.press('v')
      await world.ingest(ticksOf(world.runId, LAST + 1, LAST + 3))
      await page.locator(`canvas[data-tick="${LAST + 3}"]`).waitFor()
      assert.deepEqual(problems, [])
    })

    it('shows an organism with its family, and opens the same view from a shared address', async () => {
      const { page, problems } = await visit('t=5&c=type&at=5,5,16')
      await page.getByRole('button', { name: '#2', exact: true }).first().click()
      await page.getByRole('region', { name: 'Organism 2' }).getByRole('button', { name: '#1' }).waitFor()
      await page.waitForURL(/[?&]o=2(&|$)/)
      const { page: other } = await browser.open(page.url())
      await other.getByRole('region', { name: 'Organism 2' }).waitFor()
      await other.locator('canvas[data-tick="5"]').waitFor()
      assert.equal(await other.locator('.world-head select').inputValue(), 'type')
      assert.deepEqual(problems, [])
    })

    it('reads out the cell under the cursor of the keyboard', async () => {
      const { page, problems } = await visit('t=5&c=type&at=5,5,16')
      await page.locator('canvas[data-tick="5"]').waitFor()
      // Both before the page is drawn again, as on a busy machine.
      await page.evaluate("for (const key of ['i', 'ArrowLeft']) dispatchEvent(new KeyboardEvent('keydown', { key }))")
      const read = page.locator('.world-cell[aria-live="polite"]')
      await read.getByText('(4, 5) empty').waitFor()
      await page.keyboard.press('ArrowUp')
      await read.getByText('(4, 4) energy 39 of #1').waitFor()
      assert.ok(await page.locator('canvas[data-tick="5"]').isVisible(), 'the arrows have not moved the time')
      await page.keyboard.press('Enter')
      await page.getByRole('region', { name: 'Organism 1' }).waitFor()
      await page.keyboard.press('?')
      const keysOf = (says: string) =>
        page.locator('.keys > div', { hasText: says }).first().locator('kbd').allTextContents()
      assert.deepEqual(await keysOf('Play or pause'), ['Space'])
      assert.deepEqual(await keysOf('One cell left'), ['←'])
      assert.deepEqual(problems, [])
    })

    it('says which tick is missing', async () => {
      const { page } = await visit('t=5')
      await page.locator('canvas[data-tick="5"]').waitFor()
      await page.route('**/environment/6', route =>
        route.fulfill({ status: 404, json: { detail: 'Tick 6 is not indexed' } }),
      )
      await page.keyboard.press('ArrowRight')
      await page.getByText('Tick 6 is missing').waitFor()
    })
  })
}

const colourOf = (type: number, value: number): number => TABLE[indexOf(0, KINDS[type] ?? 0, lightOf(value))] ?? 0

type Context = { getImageData(x: number, y: number, width: 1, height: 1): { readonly data: Uint8Array } }
type Canvas = { readonly width: number; readonly height: number; getContext(kind: '2d'): Context }

/** In the page: the pixel in the middle of every cell, row by row. */
function coloursOfCells({ size, scale }: { size: number; scale: number }): number[] {
  const { document } = globalThis as unknown as { document: { querySelector(name: string): Canvas } }
  const canvas = document.querySelector('canvas')
  const context = canvas.getContext('2d')
  const [left, top] = [canvas.width / 2 - (size / 2) * scale, canvas.height / 2 - (size / 2) * scale]
  return Array.from({ length: size * size }, (_, flat) => {
    const [x, y] = [left + ((flat % size) + 0.5) * scale, top + (Math.floor(flat / size) + 0.5) * scale]
    const [red = 0, green = 0, blue = 0, alpha = 0] = context.getImageData(Math.floor(x), Math.floor(y), 1, 1).data
    return alpha * 2 ** 24 + (blue << 16) + (green << 8) + red
  })
}
