import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { SKIPPED } from '../browser/browser.ts'
import { ENGINES } from '../browser/engines.ts'
import { isShownLive } from '../browser/screens.ts'
import { fillTopics } from '../browser/seed.ts'
import { useSite } from '../browser/site.ts'

for (const engine of ENGINES) {
  describe(`the overview and what is around it, on ${engine.name}`, { skip: SKIPPED }, () => {
    const site = useSite({}, engine)
    let filled: AsyncDisposable

    before(async () => {
      filled = await fillTopics(site.tm)
    })
    after(async () => {
      await filled?.[Symbol.asyncDispose]()
    })

    it('says what needs somebody, with the way there, and shows topics and groups without a pipeline', async () => {
      const page = await site.visit('/')
      const needs = page.locator('.attention li', { hasText: 'billing has 5 dead letters “Error: card <…> declined”' })
      await needs.waitFor()
      await page.locator('.topic-flow li', { hasText: 'orders' }).getByRole('link', { name: /audit/ }).waitFor()
      await page.getByText('Topics 1 · Groups 3').waitFor()
      await needs.getByRole('link', { name: 'Look' }).click()
      await page.waitForURL('**/dead-letters?topic=orders&group=billing')
    })

    it('finds a group by its name and a message by its key', async () => {
      const page = await site.visit('/')
      await isShownLive(page)
      await page.keyboard.press('/')
      await page.keyboard.type('aud')
      await page.getByRole('option', { name: /audit/ }).waitFor()
      await page.keyboard.press('Enter')
      await page.waitForURL('**/topics/orders/groups/audit')
      await page.keyboard.press('/')
      await page.keyboard.type('customer-1')
      await page.getByRole('option', { name: /customer-1/ }).click()
      await page.waitForURL('**/topics/orders/messages?key=customer-1')
    })

    it('stands still when it is frozen, counts what it misses, and goes on with fresh figures', async () => {
      const page = await site.visit('/topics')
      const kept = page.locator('[data-name=Kept]')
      await isShownLive(page)
      const shown = await kept.textContent()
      await page.keyboard.press('l')
      await site.tm.publish('orders', { orderId: 99 })
      await page.getByRole('button', { name: /frozen · [1-9]\d* missed/ }).waitFor()
      assert.equal(await kept.textContent(), shown)
      await page.keyboard.press('l')
      await page.locator('[data-name=Kept]', { hasText: String(Number(shown) + 1) }).waitFor()
    })

    it('leaves single letters alone once they are switched off', async () => {
      const page = await site.visit('/')
      await isShownLive(page)
      await page.keyboard.press('?')
      await page.getByLabel('Single letters as keys').uncheck()
      await page.getByRole('button', { name: 'Close' }).click()
      await page.keyboard.press('l')
      await page.keyboard.press('Tab')
      await isShownLive(page)
      assert.equal(await page.getByText('frozen').count(), 0)
    })

    it('says in words what is wrong with an address, and shows what there is', async () => {
      await site.tm.configureTopic('addressed', { semantics: 'pub-sub' })
      await site.tm.publish('addressed', { n: 1 })
      const expected = /status of 40[04]/
      const invalid = await site.visit('/dead-letters?topic=addressed&group=%3Cb%3E', { expected })
      await invalid.getByRole('alert').filter({ hasText: 'asks for something that cannot be' }).waitFor()
      assert.equal(await invalid.getByRole('button', { name: 'Retry' }).count(), 0)
      const group = await site.visit('/topics/nowhere/groups/nobody', { expected })
      await group.locator('h1', { hasText: 'There is no topic nowhere' }).waitFor()
      const mistyped = await site.visit('/topics/addressed/mesages', { expected })
      await mistyped.locator('h1', { hasText: 'There is no such page' }).waitFor()
      const message = await site.visit('/topics/addressed/messages?m=abc')
      await message.locator('[data-message]').waitFor()
      assert.equal(await message.getByText('NaN').count(), 0)
      const zoomed = await site.visit('/topics/addressed?from=9&to=5')
      await zoomed.getByRole('button', { name: 'As table' }).waitFor()
      assert.equal(await zoomed.getByRole('alert').count(), 0)
    })
  })
}
