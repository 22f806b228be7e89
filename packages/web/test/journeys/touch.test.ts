import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { CDPSession, Page } from 'playwright-core'
import type { World } from '../../../server/test/worlds.ts'
import { SKIPPED, TestBrowser } from '../browser/browser.ts'
import { SQLITE } from '../browser/engines.ts'
import { startWorldOf, upTo } from '../browser/world-of.ts'

type Point = { readonly x: number; readonly y: number }

const STEPS = 8
const TICK = 4

/** A phone of a usual size. The fingers are Chromium's own: it makes pointers and gestures of them as on a touch screen. */
describe('a world under fingers', { skip: SKIPPED }, () => {
  let world: World
  let browser: TestBrowser

  before(async () => {
    world = await startWorldOf(SQLITE, { shape: [40, 40], ticks: upTo(12) })
    browser = await TestBrowser.launch()
  })

  after(async () => {
    await browser?.[Symbol.asyncDispose]()
    await world?.[Symbol.asyncDispose]()
  })

  it('grows where two fingers part, follows one, and selects what is touched', async () => {
    const context = await browser.person({ width: 390, height: 844, more: { hasTouch: true, isMobile: true } })
    const path = `/runs/${world.runId}?t=${TICK}&at=10,10,8&c=type`
    const { page, problems } = await browser.open(world.url + path, { context })
    const canvas = page.locator(`canvas[data-tick="${TICK}"]`)
    await canvas.waitFor()
    const session = await context.newCDPSession(page)
    const box = await canvas.boundingBox()
    assert.ok(box !== null)
    const middle = { x: box.x + box.width / 2, y: box.y + box.height / 2 }

    await drag(session, [beside(middle, -30), beside(middle, 30)], [beside(middle, -60), beside(middle, 60)])
    const near = await viewOf(page, ({ scale }) => scale > 14)
    assert.ok(Math.abs(near.scale - 16) < 1, `${near.scale} pixels a cell after the fingers went twice as far apart`)
    assert.ok(Math.hypot(near.x - 10, near.y - 10) < 0.5, `(${near.x}, ${near.y}) is in the middle`)
    assert.equal(await page.evaluate('visualViewport.scale'), 1, 'the page itself is not zoomed')

    await drag(session, [middle], [beside(middle, -64)])
    const moved = await viewOf(page, ({ x }) => x > 12)
    assert.ok(Math.abs(moved.x - near.x - 64 / near.scale) < 0.75, `${moved.x - near.x} cells for 64 pixels`)

    // Organism 2 stands on (6, 6) at this tick.
    const at = (cell: number, centre: number): number => (cell + 0.5 - centre) * moved.scale
    const target = { x: middle.x + at(TICK + 2, moved.x), y: middle.y + at(TICK + 2, moved.y) }
    await drag(session, [target], [target])
    await page.waitForURL(/[?&]o=2/)
    await page.getByRole('region', { name: 'Organism 2' }).waitFor()
    assert.deepEqual(problems, [])
    await context.close()
  })
})

const beside = ({ x, y }: Point, by: number): Point => ({ x: x + by, y })

/** Fingers go from some points to others, and are lifted. */
async function drag(session: CDPSession, from: readonly Point[], to: readonly Point[]): Promise<void> {
  await session.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: from.map(touch) })
  for (let step = 1; step <= STEPS; step++) {
    const between = from.map(({ x, y }, finger): Point => {
      const end = to[finger] ?? { x, y }
      return { x: x + ((end.x - x) * step) / STEPS, y: y + ((end.y - y) * step) / STEPS }
    })
    if (from.some(({ x }, finger) => x !== to[finger]?.x))
      await session.send('Input.dispatchTouchEvent', { type: 'touchMove', touchPoints: between.map(touch) })
  }
  await session.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] })
}

const touch = (point: Point, id: number) => ({ ...point, id })

type View = Point & { readonly scale: number }

/** The view that the address holds, as soon as it is the expected one. */
async function viewOf(page: Page, isExpected: (view: View) => boolean): Promise<View> {
  const read = (url: URL): View => {
    const [x = 0, y = 0, scale = 0] = (url.searchParams.get('at') ?? '').split(',').map(Number)
    return { x, y, scale }
  }
  await page.waitForURL(url => isExpected(read(url)))
  return read(new URL(page.url()))
}
