import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { makeRunId } from '@tidemark/pipeline'
import { startWorld, type World } from '../../../server/test/worlds.ts'
import { SKIPPED, TestBrowser } from '../browser/browser.ts'
import { faultsOf } from '../browser/faults.ts'
import { isShownLive } from '../browser/screens.ts'
import { fillTopics, fillWorld, screensOf } from '../browser/seed.ts'

const OTHER_RUN = makeRunId(Date.UTC(2026, 0, 3), '550e8400-e29b-41d4-a716-446655440001')

/** They say that something is not there, after the server has said so with 404. */
const NOT_THERE = [
  '/topics/not-there',
  '/topics/not-there/messages',
  '/topics/orders/groups/nobody',
  `/runs/${OTHER_RUN}`,
]

describe('every screen', { skip: SKIPPED }, () => {
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

  for (const colorScheme of ['dark', 'light'] as const) {
    it(`has no serious fault of accessibility and no error, ${colorScheme}`, async () => {
      const context = await browser.person({ colorScheme })
      const found: string[] = []
      for (const path of [...screensOf(world.runId), ...NOT_THERE]) {
        const { page, problems } = await browser.open(world.url + path, { context })
        await isShownLive(page)
        await page
          .locator('main h1')
          .waitFor({ timeout: 10_000 })
          .catch(() => undefined)
        const headings = await page.locator('h1').count()
        found.push(
          ...[...(await faultsOf(page)), ...problems.filter(problem => !isAnswer(path, problem))].map(
            fault => `${path}: ${fault}`,
          ),
        )
        if (headings !== 1) found.push(`${path}: ${headings} headings of the first order`)
        await page.close()
      }
      await context.close()
      assert.deepEqual(found, [])
    })
  }
})

const isAnswer = (path: string, problem: string): boolean => NOT_THERE.includes(path) && /status of 404/.test(problem)
