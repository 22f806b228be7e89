import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { until } from '../../../../testing/until.ts'
import { SKIPPED } from '../browser/browser.ts'
import { ENGINES } from '../browser/engines.ts'
import { isShownLive } from '../browser/screens.ts'
import { useSite } from '../browser/site.ts'

for (const engine of ENGINES) {
  describe(`with the keyboard alone, on ${engine.name}`, { skip: SKIPPED }, () => {
    const site = useSite({}, engine)

    it('one goes everywhere, finds a group, pauses it and resumes it', async () => {
      await site.tm.configureTopic('orders', { semantics: 'pub-sub' })
      const group = site.tm.consumerGroup('orders', 'email')
      group.addConsumer('one', async () => undefined)
      await group.start({ from: 'now' })
      const page = await site.visit('/')
      await isShownLive(page)
      for (const [keys, heading] of [
        ['t', 'Topics'],
        ['d', 'Dead letters'],
        ['o', 'Overview'],
      ] as const) {
        await page.keyboard.press('g')
        await page.keyboard.press(keys)
        await page.locator('h1', { hasText: heading }).waitFor({ state: 'attached' })
      }
      await page.keyboard.press('?')
      await page.getByRole('dialog').getByText('Go to Topics').waitFor()
      await page.keyboard.press('Escape')
      await page.goto(new URL('/topics/orders/groups/email', site.url).href)
      await isShownLive(page)
      await tabTo(page, 'Pause')
      await page.keyboard.press('Enter')
      await page.getByText('takes nothing new').waitFor()
      await page.keyboard.press('Enter')
      await page.locator('.mark', { hasText: 'paused' }).first().waitFor()
      await tabTo(page, 'Resume')
      await page.keyboard.press('Enter')
      await page
        .getByText(/waiting/)
        .first()
        .waitFor()
      await page.keyboard.press('Escape')
      await page.keyboard.press('p')
      await page.getByRole('dialog').or(page.locator('.popover')).first().waitFor()
      await page.keyboard.press('Enter')
      await page.locator('.mark', { hasText: 'active' }).first().waitFor()
      await group.stop()
    })

    it('one selects dead letters with x, and reads which message each is', async () => {
      await site.tm.configureTopic('mails', { semantics: 'pub-sub', maxAttempts: 1 })
      const group = site.tm.consumerGroup<{ isBad: boolean }>('mails', 'smtp')
      group.addConsumer('one', async ({ payload }) => {
        if (payload.isBad) throw new Error('mailbox full')
      })
      await group.start({ from: 'now' })
      for (const isBad of [false, false, true, true]) await site.tm.publish('mails', { isBad })
      await until(async () => (await site.tm.admin.deadLetters('mails')).length === 2, { what: 'both to fail' })
      await group.stop()
      const page = await site.visit('/dead-letters')
      await page.locator('.error-kind').waitFor()
      await page.keyboard.press('j')
      await page.keyboard.press('Enter')
      await page.locator('.letter').nth(1).waitFor()
      assert.match(await page.locator('.letter-name').first().innerText(), /\b3\b/)
      await page.keyboard.press('j')
      await page.keyboard.press('x')
      await page.getByText('1 selected', { exact: true }).waitFor()
      await page.keyboard.press('j')
      await page.keyboard.press('x')
      await page.getByText('2 selected', { exact: true }).waitFor()
      await page.keyboard.press('x')
      await page.getByText('1 selected', { exact: true }).waitFor()
      await page.keyboard.press('Enter')
      await page.locator('.letter-body').getByRole('link', { name: '4' }).click()
      await page.waitForURL('**/topics/mails/messages?m=4')
    })

    it('every stop of the tab key can be seen', async () => {
      const page = await site.visit('/topics')
      await isShownLive(page)
      const seen: string[] = []
      for (let stop = 0; stop < 14; stop++) {
        await page.keyboard.press('Tab')
        const found = await page.evaluate(() => {
          type Element = { tagName: string; textContent: string | null; getBoundingClientRect(): { width: number } }
          const { document, getComputedStyle } = globalThis as unknown as {
            document: { activeElement: Element }
            getComputedStyle(element: Element): { outlineStyle: string; outlineWidth: string; boxShadow: string }
          }
          const { activeElement } = document
          const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(activeElement)
          const isSeen = (outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 2) || boxShadow !== 'none'
          return { isSeen, name: `${activeElement.tagName} ${activeElement.textContent?.slice(0, 20)}` }
        })
        if (!found.isSeen && !found.name.startsWith('BODY')) seen.push(found.name)
      }
      assert.deepEqual(seen, [])
    })
  })
}

/** Presses the tab key until the button has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  const button = page.getByRole('button', { name, exact: true }).first()
  await button.waitFor()
  for (let stop = 0; stop < 60; stop++) {
    if (await button.evaluate(element => element === element.ownerDocument.activeElement)) return
    await page.keyboard.press('Tab')
  }
  assert.fail(`The tab key does not reach ${name}`)
}
