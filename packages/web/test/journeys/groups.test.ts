import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { spawnScript } from '../../../../testing/processes.ts'
import { until } from '../../../../testing/until.ts'
import { SKIPPED } from '../browser/browser.ts'
import { ENGINES } from '../browser/engines.ts'
import { factIs, isShownLive } from '../browser/screens.ts'
import { useSite } from '../browser/site.ts'

for (const engine of ENGINES) {
  describe(`a group, on ${engine.name}`, { skip: SKIPPED }, () => {
    const site = useSite({}, engine)

    it('whose process is killed is shown dead, and alive when it is back', async () => {
      await site.tm.configureTopic('parcels', { semantics: 'pub-sub' })
      const script = new URL('../browser/scripts/group.ts', import.meta.url)
      const first = spawnScript(script, [site.databaseUrl, 'parcels', 'courier'])
      await first.waitForLine('started')
      const page = await site.visit('/topics/parcels/groups/courier')
      await page.locator('.mark', { hasText: 'active' }).first().waitFor()
      first.kill('SIGKILL')
      await first.exited
      for (let parcel = 0; parcel < 9; parcel++) await site.tm.publish('parcels', { parcel })
      await until(
        async () => {
          await site.tm.admin.jobs['dead-groups'].runOnce()
          return (await site.tm.admin.groups('parcels')).some(({ status }) => status === 'DEAD')
        },
        { what: 'the group to be given up' },
      )
      await page.locator('.mark', { hasText: 'dead' }).first().waitFor()
      await factIs(page, 'Lag', /^9/)
      await using second = spawnScript(script, [site.databaseUrl, 'parcels', 'courier'])
      await second.waitForLine('started')
      await page.locator('.mark', { hasText: 'active' }).first().waitFor()
      await factIs(page, 'Lag', /^0/)
    })

    it('is moved back by the number that the dialog foretold', async () => {
      await site.tm.configureTopic('letters', { semantics: 'pub-sub' })
      const seen: number[] = []
      const group = site.tm.consumerGroup<{ n: number }>('letters', 'reader')
      group.addConsumer('one', async ({ payload }) => void seen.push(payload.n))
      await group.start({ from: 'now' })
      for (let n = 0; n < 14; n++) await site.tm.publish('letters', { n })
      await until(() => seen.length === 14, { what: 'all to be read' })
      const page = await site.visit('/topics/letters/groups/reader')
      await isShownLive(page)
      await page.getByRole('button', { name: 'Reset…' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel(/beginning/i).check()
      const button = dialog.getByRole('button', { name: /^Move back by \d+/ })
      await button.waitFor()
      const foretold = Number(/\d+/.exec((await button.textContent()) ?? '')?.[0])
      await button.click()
      await dialog.waitFor({ state: 'detached' })
      await until(() => seen.length >= 14 + foretold, { what: `${foretold} to come again` })
      await factIs(page, 'Lag', /^0/)
      assert.equal(seen.length, 14 + foretold)
      assert.equal(foretold, 14)
      await group.stop()
    })

    it('that somebody else removes while its dialog is open says so, and nothing breaks', async () => {
      await site.tm.configureTopic('events', { semantics: 'pub-sub' })
      const group = site.tm.consumerGroup('events', 'gone')
      group.addConsumer('one', async () => undefined)
      await group.start({ from: 'now' })
      await group.stop()
      const page = await site.visit('/topics/events/groups/gone', { expected: /status of 404/ })
      await isShownLive(page)
      await page.getByRole('button', { name: 'Reset…' }).click()
      await page.getByRole('dialog').waitFor()
      await site.tm.admin.removeGroup('events', 'gone')
      await page
        .getByText(/no group gone|was removed|does not exist|no longer exists/i)
        .first()
        .waitFor()
      await page.locator('main a', { hasText: 'events' }).first().waitFor({ state: 'attached' })
    })
  })
}
