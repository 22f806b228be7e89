import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { until } from '../../../../testing/until.ts'
import { SKIPPED } from '../browser/browser.ts'
import { ENGINES } from '../browser/engines.ts'
import { hooksOf } from '../browser/hooks.ts'
import { factIs, isShownLive } from '../browser/screens.ts'
import { useSite } from '../browser/site.ts'

const HOUR_MS = 3_600_000
const MESSAGES = 8_000

for (const engine of ENGINES) {
  describe(`actions with many messages, on ${engine.name}`, { skip: SKIPPED }, () => {
    const site = useSite({}, engine)

    it('show a backfill that runs as a bar, cancel it and resume it', async () => {
      const { tm } = site
      await tm.configureTopic('archive', { semantics: 'pub-sub', tracking: 'reference' })
      await tm.publishBatch(
        'archive',
        Array.from({ length: MESSAGES }, (_, n) => ({ n })),
      )
      await tm.reader('archive', { group: 'late', from: 'now' }).ready()
      // It takes minutes, so that it still runs when a busy machine comes to look.
      const running = tm.admin.startBackfill('archive', 'late', {
        from: 'beginning',
        scope: 'retained',
        maxPerSecond: 40,
      })
      running.catch(() => undefined)
      const page = await site.visit('/topics/archive/groups/late')
      const panel = page.getByRole('region', { name: 'Backfill' })
      await panel.getByText(/^[1-9]\d? % · [\d.]+\/s · .+ left/).waitFor()
      const bar = panel.getByRole('progressbar')
      const share = async (): Promise<number> => Number(await bar.getAttribute('value'))
      const first = await share()
      assert.ok(first > 0 && first < 1, `${first}`)
      await until(async () => (await share()) > first, { what: 'the bar to grow' })
      await panel.getByRole('button', { name: 'Cancel backfill' }).click()
      await page
        .locator('.popover')
        .getByText(/\d+ brought so far stay/)
        .waitFor()
      await page.locator('.popover').getByRole('button', { name: 'Cancel backfill' }).click()
      const cancelled = (await panel.getByText(/^cancelled at \d+ %, \d+ brought/).textContent()) ?? ''
      await running
      const brought = Number(/(\d+) brought/.exec(cancelled)?.[1])
      assert.ok(brought > 0 && brought < MESSAGES, cancelled)
      await panel.getByRole('button', { name: 'Resume backfill' }).click()
      await page.locator('.popover').getByRole('button', { name: 'Resume backfill' }).click()
      await panel.getByRole('button', { name: 'Cancel backfill' }).waitFor()
      await page
        .getByText(/^Resumed the backfill of late at/)
        .first()
        .waitFor()
      await until(async () => (await share()) > brought / MESSAGES, { what: 'the bar to go on where it was' })
      await tm.admin.cancelBackfill('archive', 'late')
      await panel.getByText(/^cancelled at/).waitFor()
    })

    it('say what a backfill has brought', async () => {
      const { tm } = site
      await tm.configureTopic('shelf', { semantics: 'pub-sub', tracking: 'reference' })
      await tm.publishBatch('shelf', [1, 2, 3])
      await tm.reader('shelf', { group: 'late', from: 'now' }).ready()
      await tm.admin.startBackfill('shelf', 'late', { from: 'beginning', scope: 'retained' })
      const page = await site.visit('/topics/shelf/groups/late')
      await page.getByRole('region', { name: 'Backfill' }).getByText('complete: 3 brought').waitFor()
    })

    it('bring a dead group back with the newest few, as its dialog says', async () => {
      const { tm } = site
      await tm.configureTopic('silent', { semantics: 'pub-sub' })
      await tm.reader('silent', { group: 'courier', from: 'now' }).ready()
      for (let n = 0; n < 12; n++) await tm.publish('silent', { n })
      await hooksOf(site.databaseUrl).setStatus('courier', 'DEAD')
      const page = await site.visit('/topics/silent/groups/courier')
      await page.getByRole('button', { name: 'Resurrect…' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText('Goes on where it stopped: 12 messages waiting.').waitFor()
      await dialog.getByLabel('Number of newest messages').fill('5')
      await dialog.getByText(/newest 5/).waitFor()
      await dialog.getByRole('button', { name: 'Resurrect' }).click()
      await page
        .getByText(/^Resurrected courier at .*7 skipped/)
        .first()
        .waitFor()
      await page.locator('.mark', { hasText: 'active' }).first().waitFor()
      await factIs(page, 'Lag', /^5/)
      const reader = tm.reader<{ n: number }>('silent', { group: 'courier' })
      assert.equal((await reader.poll(5_000))?.payload.n, 7)
    })

    it('ask in a dialog from a hundred dead letters on', async () => {
      const { tm } = site
      await tm.configureTopic('mails', { semantics: 'pub-sub', maxAttempts: 1 })
      const group = tm.consumerGroup('mails', 'smtp')
      group.addConsumer('one', async () => {
        throw new Error('mailbox full')
      })
      await group.start({ from: 'now' })
      await tm.publishBatch(
        'mails',
        Array.from({ length: 101 }, (_, n) => ({ n })),
      )
      const letters = () => tm.admin.deadLetters('mails', { limit: 200 })
      await until(async () => (await letters()).length === 101, { what: 'all to fail' })
      await group.stop()
      const page = await site.visit('/dead-letters?topic=mails')
      await page.getByRole('button', { name: /^Redrive 101 of mails/ }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText('101 return to smtp with 1 attempt each.').waitFor()
      await dialog.getByRole('button', { name: 'Redrive 101' }).click()
      await page.getByText('mails has no dead letters').waitFor()
    })

    it('count orphans before they complete them', async () => {
      const { tm } = site
      await tm.configureTopic('receipts', { semantics: 'pub-sub', tracking: 'reference' })
      await tm.reader('receipts', { group: 'gone', from: 'now' }).ready()
      await tm.publishBatch('receipts', [1, 2, 3])
      const hooks = hooksOf(site.databaseUrl)
      await hooks.setStatus('gone', 'DEAD')
      await hooks.ageMessages('receipts', 2 * HOUR_MS)
      const page = await site.visit('/topics/receipts?show=settings')
      await isShownLive(page)
      await page.getByRole('button', { name: 'Complete orphans' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText('0 messages older than 1d count as done for groups that are gone.').waitFor()
      await dialog.getByLabel('Older than').selectOption('1h')
      await dialog.getByText('3 messages older than 1h count as done for groups that are gone.').waitFor()
      await dialog.getByRole('button', { name: 'Complete' }).click()
      await page
        .getByText(/^Completed 3 messages of receipts at/)
        .first()
        .waitFor()
      assert.deepEqual(await tm.admin.completion('receipts', { unfinished: true }), [])
    })
  })
}
