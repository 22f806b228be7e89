import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { makeRunId } from '@tidemark/pipeline'
import { RUN_ID, startWorld, type World } from '../../../server/test/worlds.ts'
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

  for (const path of [...screensOf(RUN_ID), ...NOT_THERE]) {
    it(`${path} has no serious fault of accessibility and no error, dark and light`, async () => {
      for (const colorScheme of ['dark', 'light'] as const) {
        const { page, problems } = await browser.open(world.url + path, { colorScheme })
        await isShownLive(page)
        await page.locator('main h1').waitFor({ state: 'attached' })
        assert.equal(await page.locator('h1').count(), 1, 'one heading of the first order')
        assert.deepEqual(await faultsOf(page), [], colorScheme)
        assert.deepEqual(
          problems.filter(problem => !isAnswer(path, problem)),
          [],
          colorScheme,
        )
        await page.context().close()
      }
    })
  }
})

const isAnswer = (path: string, problem: string): boolean => NOT_THERE.includes(path) && /status of 404/.test(problem)
