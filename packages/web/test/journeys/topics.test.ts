import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SKIPPED } from '../browser/browser.ts'
import { ENGINES } from '../browser/engines.ts'
import { useSite } from '../browser/site.ts'

for (const engine of ENGINES) {
  describe(`topics on the page, on ${engine.name}`, { skip: SKIPPED }, () => {
    const site = useSite({}, engine)

    it('are made, changed and deleted, each after it was said what happens', async () => {
      const page = await site.visit('/topics')
      await page.getByRole('button', { name: 'New topic' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Name').fill('no spaces')
      await dialog.getByText('Begin with a letter or digit').waitFor()
      await dialog.getByLabel('Name').fill('invoices')
      await dialog.getByLabel('Semantics').selectOption('pub-sub')
      await dialog.getByRole('button', { name: 'Create' }).click()
      await page.getByRole('heading', { level: 1, name: 'invoices' }).waitFor()
      await page.getByRole('heading', { name: 'Nobody is subscribed' }).waitFor()

      await page.getByRole('button', { name: 'Settings', exact: true }).click()
      await page.getByLabel('Retention', { exact: true }).fill('1h')
      await page.getByText('Retention 1d → 1h: no message goes for it.').waitFor()
      await page.getByRole('button', { name: 'Save 1 change' }).click()
      await page.getByText(/keeps 1\sh/).waitFor()
      const { config } = await site.tm.admin.describeTopic('invoices')
      assert.deepEqual([config.semantics, config.retentionMs], ['pub-sub', 3_600_000])

      await page.getByRole('button', { name: 'Switch to reference tracking' }).click()
      await page.getByRole('dialog').getByText('It allows 64 groups').waitFor()
      await page.getByRole('dialog').getByRole('button', { name: 'Switch' }).click()
      await page.getByText('pub-sub · reference').waitFor()

      await page.getByRole('button', { name: 'Delete topic' }).click()
      const question = page.getByRole('dialog')
      await question.getByText('0 messages').waitFor()
      await question.getByLabel('Type invoices to confirm').fill('invoices')
      await question.getByRole('button', { name: 'Delete' }).click()
      await page.waitForURL('**/topics')
      await page.getByText('No topics yet').waitFor()
    })

    it('are a river whose lanes move, are dragged, and open the messages', async () => {
      await site.tm.configureTopic('orders', { semantics: 'pub-sub' })
      const reader = site.tm.reader('orders', { group: 'email' })
      await reader.ready()
      for (let order = 1; order <= 40; order++) await site.tm.publish('orders', { order })
      const page = await site.visit('/topics/orders')
      await page.locator('.lane', { hasText: 'lag 40' }).waitFor()
      const cursor = page.getByRole('slider', { name: /Position of email/ })
      assert.equal(await cursor.getAttribute('aria-valuenow'), '0')

      await cursor.focus()
      await page.keyboard.press('End')
      await page.keyboard.press('Enter')
      const dialog = page.getByRole('dialog', { name: 'Move email' })
      await dialog.waitFor()
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })

      const place = await cursor.boundingBox()
      assert.ok(place)
      await page.mouse.move(place.x + place.width / 2, place.y + place.height / 2)
      await page.mouse.down()
      await page.mouse.move(place.x + 400, place.y + place.height / 2, { steps: 3 })
      await page.getByText(/forward by about \d+ messages/).waitFor()
      await page.mouse.up()
      await dialog.getByText(/never reach email/).waitFor()
      await page.keyboard.press('Escape')

      await page.getByRole('button', { name: 'As table' }).click()
      const row = page.locator('tr', { hasText: 'email' })
      await row.locator('[data-name=Lag]', { hasText: /^40$/ }).waitFor()
      await page.getByRole('button', { name: 'As table' }).click()

      await page.locator('.river-head').click({ position: { x: 4, y: 40 } })
      await page.waitForURL('**/topics/orders/messages?**')
    })
  })
}
