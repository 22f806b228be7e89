import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SKIPPED } from './browser.ts'
import { ENGINES } from './engines.ts'
import { factIs, isShownLive } from './screens.ts'
import { useSite } from './site.ts'

const TOKEN = 'kJ8-vq2LmW9x_Tz4RbY7'

for (const engine of ENGINES) {
  describe(`the page in a browser, on ${engine.name}`, { skip: SKIPPED }, () => {
    const site = useSite({}, engine)
    const configure = async (topic: string): Promise<void> => {
      await site.tm.configureTopic(topic, { semantics: 'pub-sub', maxAttempts: 1 })
    }

    it('pauses a group, shows its lag grow, and shrink after resuming', async () => {
      await configure('orders')
      const group = site.tm.consumerGroup('orders', 'email')
      group.addConsumer('one', async () => undefined)
      await group.start({ from: 'now' })
      const page = await site.visit('/topics/orders/groups/email')
      await page.getByRole('button', { name: 'Pause' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click()
      await page
        .getByText(/Paused email at \d\d:\d\d:\d\d/)
        .first()
        .waitFor()
      await page.locator('h1 + .mark', { hasText: 'paused' }).waitFor()
      for (let order = 0; order < 12; order++) await site.tm.publish('orders', { order })
      await factIs(page, 'Lag', /^12/)
      await page.getByRole('button', { name: 'Resume' }).first().click()
      await page.getByRole('dialog').getByText('12 are waiting').waitFor()
      await page.getByRole('dialog').getByRole('button', { name: 'Resume' }).click()
      await factIs(page, 'Lag', /^0/)
      await group.stop()
    })

    it('publishes a message, finds it and shows it whole', async () => {
      await configure('notes')
      const page = await site.visit('/topics/notes/messages')
      await page.getByRole('button', { name: 'Publish' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Payload, as JSON').fill('{ "note": "<b>not markup</b>" }')
      await dialog.getByLabel('Key').fill('customer-9')
      await dialog.getByRole('button', { name: 'Publish' }).click()
      await page
        .getByText(/Published message \d+ to notes/)
        .first()
        .waitFor()
      await page.goto(new URL('/topics/notes/messages?key=customer-9', site.url).href)
      await page.locator('tbody tr').first().click()
      await page.locator('.inspector pre', { hasText: '<b>not markup</b>' }).waitFor()
      await page.goto(new URL('/topics/notes/messages?key=nobody', site.url).href)
      await page.getByText(/None of the .* kept.* has key nobody/).waitFor()
    })

    it('redrives dead letters by their error', async () => {
      await configure('payments')
      const group = site.tm.consumerGroup<{ n: number }>('payments', 'billing')
      let isBroken = true
      group.addConsumer('one', async ({ payload }) => {
        if (isBroken) throw new Error(`card ${payload.n} declined`)
      })
      await group.start({ from: 'now' })
      for (const n of [4711, 4712, 4713]) await site.tm.publish('payments', { n })
      const page = await site.visit('/dead-letters')
      await page.getByRole('button', { name: 'Redrive 3' }).waitFor()
      isBroken = false
      await page.getByRole('button', { name: 'Redrive 3' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Redrive 3' }).click()
      await page
        .getByText(/Redrove 3 messages to billing/)
        .first()
        .waitFor()
      await page.getByText('No dead letters').waitFor()
      await group.stop()
    })

    it('says when the server is gone, and comes back by itself', async () => {
      const other = await site.serve()
      const page = await site.open(new URL('/topics', other.url).href, { expected: /Failed to load resource/ })
      await isShownLive(page)
      await other.close()
      await page.locator('.connection', { hasText: 'retrying' }).waitFor()
      const { port } = new URL(other.url)
      await site.serve({ port: Number(port) })
      await isShownLive(page)
    })

    it('asks for a token, and disables what it does not allow', async () => {
      await configure('orders')
      const guarded = await site.serve({ tokens: { read: TOKEN } })
      const page = await site.open(new URL('/topics/orders/groups/email', guarded.url).href, { expected: /401/ })
      await page.getByLabel('Token').fill('wrong')
      await page.getByRole('button', { name: 'Open' }).click()
      await page.getByRole('alert').waitFor()
      await page.getByLabel('Token').fill(TOKEN)
      await page.getByRole('button', { name: 'Open' }).click()
      await page.getByRole('button', { name: 'Pause' }).waitFor()
      assert.ok(await page.getByRole('button', { name: 'Pause' }).isDisabled())
    })
  })
}
