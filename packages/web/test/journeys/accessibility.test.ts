import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { startWorld, type World } from '../../../server/test/worlds.ts'
import { SKIPPED, TestBrowser } from '../browser/browser.ts'
import { faultsOf } from '../browser/faults.ts'
import { isShownLive } from '../browser/screens.ts'
import { fillTopics, fillWorld } from '../browser/seed.ts'

const screensOf = (runId: string): string[] => [
  '/',
  '/topics',
  '/topics/orders',
  '/topics/orders/groups/email',
  '/topics/orders/messages',
  '/dead-letters',
  '/services',
  '/services/persistence',
  '/runs',
  `/runs/${runId}?t=5&o=2`,
  '/topics/not-there',
  '/topics/orders/groups/nobody',
  '/runs/not-there',
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
      for (const path of screensOf(world.runId)) {
        const { page, problems } = await browser.open(world.url + path, { context })
        await isShownLive(page)
        await page
          .locator('main h1')
          .waitFor({ timeout: 10_000 })
          .catch(() => undefined)
        const headings = await page.locator('h1').count()
        found.push(...[...(await faultsOf(page)), ...problems].map(fault => `${path}: ${fault}`))
        if (headings !== 1) found.push(`${path}: ${headings} headings of the first order`)
        await page.close()
      }
      await context.close()
      assert.deepEqual(found, [])
    })
  }
})
