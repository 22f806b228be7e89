import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { startServer } from '@tidemark/server'
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { open } from 'tidemark'
import { temporaryFolder } from '../../../../testing/databases.ts'
import { isLong } from '../../../../testing/long.ts'
import { SKIPPED, TestBrowser } from './browser.ts'

const SILENT = { debug() {}, info() {}, warn() {}, error() {} }
const SCREENS = [
  '/',
  '/topics',
  '/topics/orders',
  '/topics/orders/groups/email',
  '/topics/orders/messages',
  '/dead-letters',
  '/services',
  '/runs',
]
const THEMES = isLong ? (['dark', 'light'] as const) : (['light'] as const)

describe('the screens of the page', { skip: SKIPPED }, () => {
  it('have no serious fault of accessibility', async () => {
    using folder = temporaryFolder()
    await using tm = await open(`sqlite:${join(folder.path, 'app.db')}`, { logger: SILENT, maintenance: false })
    await tm.configureTopic('orders', { semantics: 'pub-sub' })
    const group = tm.consumerGroup('orders', 'email')
    group.addConsumer('one', async () => undefined)
    await group.start()
    await tm.publish('orders', { n: 1 })
    await using server = await startServer({ port: 0, topics: tm, logger: SILENT })
    await using browser = await TestBrowser.launch()
    for (const colorScheme of THEMES) {
      for (const path of SCREENS) {
        const { page } = await browser.open(new URL(path, server.url).href, { colorScheme })
        await page.locator('.connection', { hasText: 'live' }).waitFor()
        assert.deepEqual(await faultsOf(page), [], `${path} in ${colorScheme}`)
        await page.close()
      }
    }
    await group.stop()
  })
})

async function faultsOf(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  return await page.evaluate(async () => {
    type Found = { violations: { id: string; impact: string; nodes: { html: string }[] }[] }
    const page = globalThis as unknown as { axe: { run(): Promise<Found> } }
    const { violations } = await page.axe.run()
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 200)}`)
  })
}
