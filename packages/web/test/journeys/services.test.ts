import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { queue } from '@tidemark/pipeline'
import type { Page } from 'playwright-core'
import { temporaryFolder } from '../../../../testing/databases.ts'
import { until } from '../../../../testing/until.ts'
import { RUN_ID, type World } from '../../../server/test/worlds.ts'
import { SKIPPED, TestBrowser } from '../browser/browser.ts'
import { ENGINES } from '../browser/engines.ts'
import { isShownLive } from '../browser/screens.ts'
import { startWorldOn } from '../browser/world-on.ts'

/** So slow that nothing happens by itself: what happens was asked for. */
const CONFIGURED = 0.001
const SERVICE = '/api/v1/pipeline/services/simulation'

for (const engine of ENGINES) {
  describe(`services, on ${engine.name}`, { skip: SKIPPED }, () => {
    const folder = temporaryFolder()
    let world: World
    let browser: TestBrowser

    before(async () => {
      world = await startWorldOn(engine, {
        simulation: {
          type: 'simulation',
          bindings: { ticks: queue('ticks'), metadata: queue('metadata') },
          options: { runId: RUN_ID, shape: [10, 10], stateFolder: folder.path, ticksPerSecond: CONFIGURED },
        },
      })
      browser = await TestBrowser.launch()
    })

    after(async () => {
      await browser?.[Symbol.asyncDispose]()
      await world?.[Symbol.asyncDispose]()
      folder[Symbol.dispose]()
    })

    const statusOf = async (name: string) => (await world.get(`/api/v1/pipeline/services/${name}`)).body
    const tick = async (): Promise<number> => (await world.get(SERVICE)).body.metrics.tick
    const rowOf = (page: Page, name: string) => page.locator(`[data-service="${name}"]`)
    const visit = async () => {
      const visited = await browser.open(`${world.url}/services`)
      await isShownLive(visited.page)
      return visited
    }

    it('stop, start and restart, and the page shows it', async () => {
      const { page, problems } = await visit()
      const row = rowOf(page, 'persistence')
      await row.locator('.mark', { hasText: 'running' }).waitFor()
      await row.getByLabel('More actions on persistence').click()
      await page.getByRole('button', { name: 'Stop persistence' }).click()
      const popover = page.locator('.popover')
      await popover.getByText('persistence stops. The partly filled batch is written first').waitFor()
      await popover.getByRole('button', { name: 'Stop' }).click()
      await row.locator('.mark', { hasText: 'stopped' }).waitFor()
      assert.equal((await statusOf('persistence')).state, 'STOPPED')
      await page
        .locator('.notice', { hasText: /Stopped persistence at/ })
        .getByRole('button', { name: 'Start' })
        .click()
      await row.locator('.mark', { hasText: 'running' }).waitFor()
      const { startedAt } = await statusOf('persistence')
      await row.getByLabel('More actions on persistence').click()
      await page.getByRole('button', { name: 'Restart persistence' }).click()
      await popover.getByRole('button', { name: 'Restart' }).click()
      await page
        .getByText(/Restarted persistence at/)
        .first()
        .waitFor()
      await row.locator('.mark', { hasText: 'running' }).waitFor()
      assert.ok((await statusOf('persistence')).startedAt > startedAt, 'it was started anew')
      assert.deepEqual(problems, [])
    })

    it('make exactly one tick by Step, and stay paused', async () => {
      await until(async () => (await tick()) >= 1, { what: 'the first tick' })
      const { page, problems } = await visit()
      const row = rowOf(page, 'simulation')
      const before = await tick()
      await row.getByRole('button', { name: 'Make one tick of simulation' }).click()
      await page
        .getByText(`Made tick ${before + 1}. simulation is paused.`)
        .first()
        .waitFor()
      await row.locator('.mark', { hasText: 'paused' }).waitFor()
      await row.getByRole('button', { name: 'Make one tick of simulation' }).click()
      await page
        .getByText(`Made tick ${before + 2}. simulation is paused.`)
        .first()
        .waitFor()
      assert.deepEqual([await tick(), (await statusOf('simulation')).state], [before + 2, 'PAUSED'])
      await row.getByRole('button', { name: 'Resume simulation' }).click()
      await page.locator('.popover').getByRole('button', { name: 'Resume' }).click()
      await row.locator('.mark', { hasText: 'running' }).waitFor()
      assert.deepEqual(problems, [])
    })

    it('run at the speed that is pressed, of which 1 is the configured one', async () => {
      const { page, problems } = await visit()
      const row = rowOf(page, 'simulation')
      const press = async (label: string): Promise<void> => {
        const button = row.locator('.segments').getByText(label, { exact: true })
        await button.click()
        await row.locator('.segments [aria-pressed=true]', { hasText: label }).waitFor()
      }
      const speed = async () => (await statusOf('simulation')).speed.ticksPerSecond
      await row.locator('.segments [aria-pressed=true]', { hasText: /^1$/ }).waitFor()
      await press('16')
      assert.equal(await speed(), CONFIGURED * 16)
      const before = await tick()
      await press('∞')
      assert.equal(await speed(), null)
      await until(async () => (await tick()) > before + 10, { what: 'it to run' })
      await row.locator('.service-rate', { hasText: /[1-9].* ticks\/s/ }).waitFor()
      await press('¼')
      assert.equal(await speed(), CONFIGURED / 4)
      await press('1')
      assert.equal(await speed(), CONFIGURED)
      assert.deepEqual(problems, [])
    })
  })
}
