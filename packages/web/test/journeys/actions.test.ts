import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { until } from '../../../../testing/until.ts'
import { SKIPPED } from '../browser/browser.ts'
import { ENGINES } from '../browser/engines.ts'
import { factIs, isShownLive } from '../browser/screens.ts'
import { useSite } from '../browser/site.ts'

const READ = 'kJ8-vq2LmW9x_Tz4RbY7'

for (const engine of ENGINES) {
  describe(`actions, on ${engine.name}`, { skip: SKIPPED }, () => {
    const site = useSite({}, engine)

    it('pause a group beside its button, and a notice takes it back', async () => {
      await startGroup(site.tm, 'pausing', 'email')
      const page = await site.visit('/topics/pausing/groups/email')
      await isShownLive(page)
      await page.keyboard.press('p')
      const popover = page.locator('.popover')
      await popover.getByText('email takes nothing new. Nothing is in flight. What comes waits, up to 30').waitFor()
      await page.keyboard.press('Enter')
      const notice = page.locator('.notice', { hasText: /Paused email at \d\d:\d\d:\d\d\./ })
      await notice.getByRole('button', { name: 'Resume' }).click()
      await page.locator('.mark', { hasText: 'active' }).first().waitFor()
    })

    it('show a number that changes, and wait for a moment before they take it', async () => {
      await startGroup(site.tm, 'growing', 'email')
      await site.tm.admin.pauseGroup('growing', 'email')
      for (let n = 0; n < 3; n++) await site.tm.publish('growing', { n })
      const page = await site.visit('/topics/growing/groups/email')
      await page.getByRole('button', { name: 'Resume' }).click()
      const popover = page.locator('.popover')
      await popover.getByText('3 are waiting').waitFor()
      await site.tm.publish('growing', { n: 3 })
      await popover.getByText('4 are waiting').waitFor()
      await popover.getByRole('button', { name: 'Resume' }).click()
      await factIs(page, 'Lag', /^0/)
    })

    it('cancel a group in a dialog, and remove it when its name is typed', async () => {
      await startGroup(site.tm, 'ending', 'email')
      await site.tm.admin.pauseGroup('ending', 'email')
      for (let n = 0; n < 5; n++) await site.tm.publish('ending', { n })
      // What the page asks in the moment of the removal is answered with 404.
      const page = await site.visit('/topics/ending/groups/email', { expected: /404/ })
      await isShownLive(page)
      await page.keyboard.press('.')
      await page.getByRole('button', { name: 'Cancel…' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText("email ends for good; 5 waiting are not delivered to it. Others aren't touched.").waitFor()
      await dialog.getByRole('button', { name: 'Cancel the group' }).click()
      await page.locator('.mark', { hasText: 'cancelled' }).first().waitFor()
      await page.getByRole('button', { name: 'Remove…' }).click()
      await dialog.getByText(/^Cancels email, has nothing in flight/).waitFor()
      const remove = dialog.getByRole('button', { name: 'Remove' })
      assert.equal(await remove.getAttribute('aria-disabled'), 'true')
      await dialog.getByRole('textbox').fill('email')
      await remove.click()
      await page.waitForURL(/\/topics\/ending$/)
      assert.deepEqual(await site.tm.admin.groups('ending'), [])
    })

    it('take a claim from its holder', async () => {
      await site.tm.configureTopic('held', { semantics: 'pub-sub' })
      const reader = site.tm.reader('held', { group: 'slow', consumer: 'one', from: 'beginning' })
      await site.tm.publish('held', { n: 1 })
      await reader.poll(5_000)
      const page = await site.visit('/topics/held/groups/slow')
      await page.getByRole('button', { name: 'Release what one holds' }).click()
      await page.locator('.popover').getByRole('button', { name: 'Release' }).click()
      await page.getByText('Took 1 message from one.').first().waitFor()
      await page.getByText('Nothing is in flight.').waitFor()
    })

    it('redrive or discard what was selected, or all that match', async () => {
      const failing = await startFailing(site.tm, 'payments', 'billing', 5)
      const page = await site.visit('/dead-letters?topic=payments')
      await page
        .getByRole('button', { name: /card <…> declined/ })
        .first()
        .click()
      await page.locator('.letter').nth(4).waitFor()
      await page.locator('.letter-name').first().click()
      await page.locator('.attempts').waitFor()
      await page
        .getByLabel(/^Select dead letter/)
        .nth(0)
        .check()
      await page
        .getByLabel(/^Select dead letter/)
        .nth(1)
        .check()
      await page.getByRole('button', { name: 'Discard 2 selected' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText('2 dead letters are deleted for good.').waitFor()
      await dialog.getByRole('textbox').fill('2')
      await dialog.getByRole('button', { name: 'Discard 2' }).click()
      await page.getByText('Discarded 2 dead letters').first().waitFor()
      failing.mend()
      await page.getByRole('button', { name: 'Select all 3 that match' }).click()
      await page.getByRole('button', { name: 'Redrive 3 selected' }).click()
      await page.locator('.popover').getByText('3 return to billing with 1 attempt each.').waitFor()
      await page.locator('.popover').getByRole('button', { name: 'Redrive 3' }).click()
      await page.getByText('payments has no dead letters').waitFor()
      await until(() => failing.done === 3, { what: 'the redriven ones to be done' })
      await failing.stop()
    })

    it('stay visible without the right, and name the token that they need', async () => {
      await startGroup(site.tm, 'guarded', 'email')
      const guarded = await site.serve({ tokens: { read: READ } })
      const page = await site.open(`${guarded.url}/topics/guarded/groups/email`, { expected: /401/ })
      await page.getByLabel('Token').fill(READ)
      await page.getByRole('button', { name: 'Open' }).click()
      await page.getByRole('button', { name: 'Pause' }).click({ force: true })
      const popover = page.locator('.popover', { hasText: 'Needs an operate or admin token.' })
      await popover.getByRole('button', { name: 'Change token' }).click()
      await page.getByLabel('Token').waitFor()
      await page.getByRole('button', { name: 'Cancel' }).click()
      await page.locator('h1', { hasText: 'email' }).waitFor()
    })

    it('leave the tail alone while somebody reads further up', async () => {
      await site.tm.configureTopic('busy', { semantics: 'pub-sub' })
      const publish = async (from: number, to: number): Promise<void> => {
        for (let n = from; n < to; n++) await site.tm.publish('busy', { n }, { key: `key-${n}` })
      }
      await publish(0, 30)
      const page = await site.visit('/topics/busy/messages?tail=on', { height: 500 })
      await publish(30, 60)
      await page.locator('.tail-box tr', { hasText: 'key-59' }).waitFor()
      await page.locator('.tail-box').hover()
      await page.mouse.wheel(0, -400)
      await until(async () => await isScrolledUp(page), { what: 'the list to be scrolled up' })
      await publish(60, 67)
      await page.getByRole('button', { name: '7 new ↓' }).click()
      await page.locator('.tail-box tr', { hasText: 'key-66' }).waitFor()
    })
  })
}

type Tm = ReturnType<typeof useSite>['tm']

async function startGroup(tm: Tm, topic: string, name: string): Promise<void> {
  await tm.configureTopic(topic, { semantics: 'pub-sub' })
  const group = tm.consumerGroup(topic, name)
  group.addConsumer('one', async () => undefined)
  await group.start({ from: 'now' })
}

async function startFailing(tm: Tm, topic: string, name: string, count: number) {
  await tm.configureTopic(topic, { semantics: 'pub-sub', maxAttempts: 1 })
  const group = tm.consumerGroup<{ n: number }>(topic, name)
  const state = { isBroken: true, done: 0 }
  group.addConsumer('one', async ({ payload }) => {
    if (state.isBroken) throw new Error(`card ${payload.n} declined`)
    state.done++
  })
  await group.start({ from: 'now' })
  for (let n = 0; n < count; n++) await tm.publish(topic, { n: 4_711 + n })
  await until(async () => (await tm.admin.deadLetters(topic)).length === count, { what: 'all to fail' })
  return {
    mend: () => {
      state.isBroken = false
    },
    get done() {
      return state.done
    },
    stop: () => group.stop(),
  }
}

const isScrolledUp = (page: Page): Promise<boolean> =>
  page.locator('.tail-box').evaluate(box => {
    const { scrollTop, clientHeight, scrollHeight } = box as unknown as Record<string, number>
    return Number(scrollHeight) - Number(scrollTop) - Number(clientHeight) > 50
  })
