import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { temporaryFolder } from '../../../../testing/folders.ts'
import { until } from '../../../../testing/until.ts'
import { type RunningCommand, startTidemark, tidemark } from '../../../cli/test/command.ts'
import { SKIPPED, TestBrowser } from '../browser/browser.ts'
import { ENGINES } from '../browser/engines.ts'
import { startWorldOf, upTo } from '../browser/world-of.ts'

for (const engine of ENGINES) {
  describe(`a world, on ${engine.name}`, { skip: SKIPPED }, () => {
    let browser: TestBrowser
    before(async () => {
      browser = await TestBrowser.launch()
    })
    after(async () => await browser?.[Symbol.asyncDispose]())

    it('of one dimension is drawn with time running down', async () => {
      await using world = await startWorldOf(engine, { shape: [64], ticks: upTo(12) })
      const { page, problems } = await browser.open(`${world.url}/runs/${world.runId}?t=12&c=type`)
      await page.locator('canvas[data-tick="12"]').waitFor()
      assert.ok((await coloursOn(page)) > 1, 'something is drawn')
      assert.deepEqual(problems, [])
    })

    it('of four dimensions is seen as a plane, and the others have sliders', async () => {
      await using world = await startWorldOf(engine, { shape: [8, 6, 4, 3], ticks: upTo(30) })
      const { page, problems } = await browser.open(`${world.url}/runs/${world.runId}?t=30&c=type`)
      await page.locator('canvas[data-tick="30"]').waitFor()
      const sliders = page.locator('fieldset.plane input[type=range]')
      assert.equal(await sliders.count(), 2)
      await sliders.first().focus()
      await page.keyboard.press('ArrowRight')
      await page.waitForURL(/[?&]fix=/)
      await page.getByLabel('across').selectOption('2')
      await page.waitForURL(/[?&]plane=2/)
      const { page: other } = await browser.open(page.url())
      await other.locator('canvas[data-tick="30"]').waitFor()
      assert.equal(await other.getByLabel('across').inputValue(), '2')
      assert.deepEqual(problems, [])
    })

    it('with ticks missing says so at the gap, and offers the nearest', async () => {
      await using world = await startWorldOf(engine, { shape: [10, 10], ticks: [0, 1, 2, 3, 4, 5, 9, 10, 11, 12] })
      const { page } = await browser.open(`${world.url}/runs/${world.runId}?t=5`)
      await page.locator('canvas[data-tick="5"]').waitFor()
      await page.keyboard.press('t')
      await page.keyboard.type('7')
      await page.keyboard.press('Enter')
      await page.getByText('Tick 7 is missing').waitFor()
      await page.getByRole('button', { name: 'On to 9' }).click()
      await page.locator('canvas[data-tick="9"]').waitFor()
    })

    it('is followed with one organism until it dies, and its children offer themselves', async () => {
      await using world = await startWorldOf(engine, { shape: [40, 40], ticks: upTo(12), dies: 9 })
      const { page, problems } = await browser.open(`${world.url}/runs/${world.runId}?t=4&o=2&at=20,20,8`)
      await page.getByRole('region', { name: 'Organism 2' }).waitFor()
      await page.locator('canvas[data-tick="4"]').click({ position: { x: 5, y: 5 }, trial: true })
      await page.keyboard.press('f')
      await page.keyboard.press('Space')
      await page.locator('canvas[data-tick="12"]').waitFor()
      const card = page.getByRole('region', { name: 'Organism 2' })
      await card
        .getByText(/died|dead/i)
        .first()
        .waitFor()
      await card.getByRole('button', { name: 'Go to #3' }).click()
      await page.getByRole('region', { name: 'Organism 3' }).waitFor()
      assert.deepEqual(
        problems.filter(problem => !/status of 404/.test(problem)),
        [],
      )
    })
  })
}

for (const engine of ENGINES) {
  describe(`a run, on ${engine.name}`, { skip: SKIPPED }, () => {
    let browser: TestBrowser
    let database: Awaited<ReturnType<typeof engine.fresh>>

    before(async () => {
      database = await engine.fresh()
      browser = await TestBrowser.launch()
    })

    after(async () => {
      await browser?.[Symbol.asyncDispose]()
      await database?.drop()
    })

    it('that is deleted while it plays says so, and keeps what was loaded', async () => {
      using folder = temporaryFolder()
      const data = join(folder.path, 'data')
      const isSqlite = engine.name === 'SQLite'
      const environment = isSqlite ? {} : { TIDEMARK_PIPELINE__RESOURCES__INDEXES__RUNS__ADDRESS: database.url }
      const flags = ['--no-config', '--no-demo', '--no-server', '--new', '--ticks', '60']
      const { code, err } = await tidemark(['start', '--data', data, ...flags], { environment })
      assert.equal(code, 0, err)
      const serve = async (port: string): Promise<RunningCommand> => {
        const from = isSqlite ? ['--data', data] : ['--index', database.url]
        const server = startTidemark(['serve', ...from, '--port', port])
        await server.waitFor(/http:/)
        return server
      }
      await using first = await serve('0')
      const [url = ''] = /http:\/\/[\w.:]+/.exec(first.out) ?? []
      const { runs } = (await (await fetch(`${url}/api/v1/runs`)).json()) as { runs: [string] }
      const { page } = await browser.open(`${url}/runs/${runs[0]}?t=0`)
      await page.locator('canvas[data-tick]').first().waitFor()
      await page.keyboard.press('Space')
      await first[Symbol.asyncDispose]()
      // It counts as in use until the heartbeats of its indexers are a few seconds old.
      const remove = async (): Promise<boolean> =>
        (await tidemark(['runs', 'remove', runs[0], '--data', data, '--yes'], { environment })).code === 0
      await until(remove, { what: 'the run to be removed' })
      await using _second = await serve(new URL(url).port)
      await page.getByText('This run has been deleted').waitFor()
      assert.ok(await page.locator('canvas[data-tick]').first().isVisible())
      await page.getByRole('link', { name: 'All worlds' }).click()
      await page.getByText('No worlds yet').waitFor()
    })
  })
}

type Canvas = {
  width: number
  height: number
  getContext(kind: '2d'): { getImageData(x: number, y: number, width: number, height: number): { data: Uint8Array } }
}

/** How many colours the canvas has. */
async function coloursOn(page: import('playwright-core').Page): Promise<number> {
  return await page.locator('canvas[data-tick]').evaluate(element => {
    const canvas = element as unknown as Canvas
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
    return new Set(new Uint32Array(data.buffer)).size
  })
}
