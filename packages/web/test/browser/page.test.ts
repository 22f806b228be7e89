import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type RunningServer, startServer } from '@tidemark/server'
import type { Page } from 'playwright-core'
import { open, type Tidemark } from 'tidemark'
import { freshDatabase, temporaryFolder } from '../../../../testing/databases.ts'
import { SKIPPED, TestBrowser, type Watched } from './browser.ts'

const SILENT = { debug() {}, info() {}, warn() {}, error() {} }
const OPTIONS = { logger: SILENT, maintenance: false } as const
const TOKEN = 'kJ8-vq2LmW9x_Tz4RbY7'

const ENGINES = [
  {
    name: 'SQLite',
    fresh: async () => {
      const folder = temporaryFolder()
      return { url: `sqlite:${join(folder.path, 'app.db')}`, drop: async () => folder[Symbol.dispose]() }
    },
  },
  { name: 'PostgreSQL', fresh: freshDatabase },
]

for (const engine of ENGINES) {
  describe(`the page in a browser, on ${engine.name}`, { skip: SKIPPED }, () => {
    let database: Awaited<ReturnType<typeof freshDatabase>> | { url: string; drop(): Promise<void> }
    let tm: Tidemark
    let server: RunningServer
    let browser: TestBrowser

    before(async () => {
      database = await engine.fresh()
      tm = await open(database.url, OPTIONS)
      server = await startServer({ port: 0, topics: tm, logger: SILENT })
      browser = await TestBrowser.launch()
      await tm.configureTopic('orders', { semantics: 'pub-sub', maxAttempts: 1 })
    })

    after(async () => {
      await browser?.[Symbol.asyncDispose]()
      await server?.close()
      await tm?.close()
      await database?.drop()
    })

    const visit = async (path: string, options = {}): Promise<Watched> =>
      await browser.open(new URL(path, server.url).href, options)

    it('pauses a group, shows its lag grow, and shrink after resuming', async () => {
      const group = tm.consumerGroup('orders', 'email')
      group.addConsumer('one', async () => undefined)
      await group.start({ from: 'now' })
      const { page, problems } = await visit('/topics/orders/groups/email')
      await page.getByRole('button', { name: 'Pause' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click()
      await page.getByText('Paused email.').first().waitFor()
      await page.locator('h1 + .mark', { hasText: 'paused' }).waitFor()
      for (let order = 0; order < 12; order++) await tm.publish('orders', { order })
      await factIs(page, 'Lag', /^12/)
      await page.getByRole('button', { name: 'Resume' }).first().click()
      await page.getByRole('dialog').getByText('12 messages are waiting').waitFor()
      await page.getByRole('dialog').getByRole('button', { name: 'Resume' }).click()
      await factIs(page, 'Lag', /^0/)
      await group.stop()
      assert.deepEqual(problems, [])
    })

    it('publishes a message, finds it and shows it whole', async () => {
      const { page, problems } = await visit('/topics/orders/messages')
      await page.getByRole('button', { name: 'Publish' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Payload, as JSON').fill('{ "note": "<b>not markup</b>" }')
      await dialog.getByLabel('Key').fill('customer-9')
      await dialog.getByRole('button', { name: 'Publish' }).click()
      await page
        .getByText(/Published message \d+ to orders/)
        .first()
        .waitFor()
      await page.goto(new URL('/topics/orders/messages?key=customer-9', server.url).href)
      await page.locator('tbody tr').first().click()
      await page.locator('.inspector pre', { hasText: '<b>not markup</b>' }).waitFor()
      await page.goto(new URL('/topics/orders/messages?key=nobody', server.url).href)
      await page.getByText(/None of the .* retained messages has key nobody/).waitFor()
      assert.deepEqual(problems, [])
    })

    it('redrives dead letters by their error', async () => {
      const group = tm.consumerGroup<{ n: number }>('orders', 'billing')
      let isBroken = true
      group.addConsumer('one', async ({ payload }) => {
        if (isBroken) throw new Error(`card ${payload.n} declined`)
      })
      await group.start({ from: 'now' })
      for (const n of [4711, 4712, 4713]) await tm.publish('orders', { n })
      const { page, problems } = await visit('/dead-letters')
      await page.getByRole('button', { name: 'Redrive 3' }).waitFor()
      isBroken = false
      await page.getByRole('button', { name: 'Redrive 3' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Redrive 3' }).click()
      await page.getByText('Redrove 3 messages.').first().waitFor()
      await page.getByText('No dead letters').waitFor()
      await group.stop()
      assert.deepEqual(problems, [])
    })

    it('says when the server is gone, and comes back by itself', async () => {
      const other = await startServer({ port: 0, topics: tm, logger: SILENT })
      const { page } = await browser.open(new URL('/topics', other.url).href)
      await page.locator('.connection', { hasText: 'live' }).waitFor()
      await other.close()
      await page.locator('.connection', { hasText: 'retrying' }).waitFor()
      const { port } = new URL(other.url)
      const again = await startServer({ port: Number(port), topics: tm, logger: SILENT })
      await page.locator('.connection', { hasText: 'live' }).waitFor()
      await again.close()
    })

    it('asks for a token, and disables what it does not allow', async () => {
      const guarded = await startServer({ port: 0, topics: tm, logger: SILENT, tokens: { read: TOKEN } })
      const { page } = await browser.open(new URL('/topics/orders/groups/email', guarded.url).href)
      await page.getByLabel('Token').fill('wrong')
      await page.getByRole('button', { name: 'Open' }).click()
      await page.getByRole('alert').waitFor()
      await page.getByLabel('Token').fill(TOKEN)
      await page.getByRole('button', { name: 'Open' }).click()
      await page.getByRole('button', { name: 'Pause' }).waitFor()
      assert.ok(await page.getByRole('button', { name: 'Pause' }).isDisabled())
      await guarded.close()
    })
  })
}

/** A figure by the name above it. */
async function factIs(page: Page, name: string, value: RegExp): Promise<void> {
  await page
    .locator('.fact', { has: page.locator('dt', { hasText: name }) })
    .locator('dd', { hasText: value })
    .first()
    .waitFor()
}
