import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SKIPPED } from '../browser/browser.ts'
import { ENGINES } from '../browser/engines.ts'
import { sticksOut } from '../browser/fit.ts'
import { isShownLive } from '../browser/screens.ts'
import { useSite } from '../browser/site.ts'

const MARKUP = `<img src=x onerror="document.title='owned'">"'&<script>document.title='owned'</script>{{7*7}}`
const LONG_NAME = `${'long-name.'.repeat(12)}${'x'.repeat(8)}`

for (const engine of ENGINES) {
  describe(`messages, on ${engine.name}`, { skip: SKIPPED }, () => {
    const site = useSite({}, engine)

    it('of 50 MB are listed at once and not loaded into the page', async () => {
      await site.tm.configureTopic('large', { semantics: 'pub-sub', maxMessageBytes: 64 * 1024 * 1024 })
      await site.tm.publish('large', { text: 'x'.repeat(50 * 1024 * 1024) })
      await site.tm.publish('large', { text: 'small' })
      const page = await site.visit('/topics/large/messages')
      let received = 0
      page.on('response', answer => {
        received += Number(answer.headers()['content-length'] ?? 0)
      })
      const rows = page.locator('tbody tr')
      await rows.nth(1).waitFor()
      await rows.nth(1).click()
      const inspector = page.locator('.inspector')
      await inspector
        .getByText(/(50|52)(\.\d)?\s?MB/)
        .first()
        .waitFor()
      assert.ok(((await inspector.textContent()) ?? '').length < 100_000)
      assert.ok(received < 1_000_000, `${received} bytes came`)
      await rows.nth(0).click()
      await inspector.locator('pre', { hasText: 'small' }).waitFor()
    })

    it('of 300 kB show their beginning, and all of it when asked', async () => {
      await site.tm.configureTopic('middling', { semantics: 'pub-sub' })
      await site.tm.publish('middling', { text: 'y'.repeat(300_000), end: 'the very end' })
      const page = await site.visit('/topics/middling/messages?m=1')
      const inspector = page.locator('.inspector')
      await inspector.getByText('The first 4 kB are shown.').waitFor()
      assert.ok(((await inspector.locator('pre').textContent()) ?? '').length < 5_000)
      await inspector.getByRole('button', { name: /^Load all 300(\.\d)?\s?kB/ }).click()
      await inspector.locator('pre', { hasText: 'the very end' }).waitFor()
      assert.ok(((await inspector.locator('pre').textContent()) ?? '').length > 300_000)
    })

    it('are stored digit for digit as they are typed', async () => {
      await site.tm.configureTopic('exact', { semantics: 'pub-sub' })
      const page = await site.visit('/topics/exact/messages')
      await isShownLive(page)
      await page.getByRole('button', { name: 'Publish', exact: true }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Payload, as JSON').fill('{"id": 12345678901234567890, "e": 1e400}')
      await dialog.getByRole('button', { name: 'Publish' }).click()
      await page.locator('tbody tr', { hasText: '12345678901234567890' }).click()
      await page.locator('.inspector pre', { hasText: /"id": 12345678901234567890,\s+"e": 1e400/ }).waitFor()
      const { messages } = await site.tm.admin.browse('exact')
      assert.equal(messages[0]?.payload, '{"id":12345678901234567890,"e":1e400}')
    })

    it('have their filters in two lines on a phone', async () => {
      await site.tm.configureTopic('phone', { semantics: 'pub-sub' })
      await site.tm.publish('phone', { n: 1 }, { key: 'one' })
      const page = await site.visit('/topics/phone/messages?key=one', { width: 360, height: 740 })
      await page.getByRole('button', { name: 'Clear' }).waitFor()
      const box = await page.locator('.message-filters').boundingBox()
      assert.ok(box !== null && box.height <= 110, `${box?.height} px`)
      assert.deepEqual(await sticksOut(page), [])
    })

    it('show a key and headers full of markup as they are', async () => {
      await site.tm.configureTopic('markup', { semantics: 'pub-sub' })
      await site.tm.publish('markup', { [MARKUP]: MARKUP }, { key: MARKUP, headers: { note: MARKUP } })
      const page = await site.visit('/topics/markup/messages')
      await page.locator('tbody tr', { hasText: MARKUP }).click()
      await page.locator('.inspector', { hasText: MARKUP }).waitFor()
      await page.goto(new URL(`/topics/markup/messages?key=${encodeURIComponent(MARKUP)}`, site.url).href)
      await page.locator('tbody tr', { hasText: MARKUP }).waitFor()
      assert.equal(await page.locator('main img, main script').count(), 0)
      assert.doesNotMatch(await page.title(), /owned/)
    })

    it('come in by themselves while one watches, and are not lost in a burst', async () => {
      await site.tm.configureTopic('burst', { semantics: 'pub-sub' })
      const page = await site.visit('/topics/burst/messages')
      await page.getByRole('button', { name: /Tail/ }).click()
      await page.getByText(/Waiting for the next message/).waitFor()
      await Promise.all(Array.from({ length: 30 }, (_, n) => site.tm.publish('burst', { n }, { key: `key-${n}` })))
      await page.locator('tbody tr', { hasText: 'key-29' }).first().waitFor()
      await page.locator('tbody tr').nth(29).waitFor()
    })
  })

  describe(`a topic with a name of 128 characters, on ${engine.name}`, { skip: SKIPPED }, () => {
    const site = useSite({}, engine)

    it('fits every screen, small and large', async () => {
      assert.equal(LONG_NAME.length, 128)
      await site.tm.configureTopic(LONG_NAME, { semantics: 'pub-sub' })
      const group = site.tm.consumerGroup(LONG_NAME, LONG_NAME)
      group.addConsumer('one', async () => undefined)
      await group.start({ from: 'now' })
      await site.tm.publish(LONG_NAME, { n: 1 })
      for (const width of [360, 1440]) {
        for (const path of [
          '/',
          '/topics',
          `/topics/${LONG_NAME}`,
          `/topics/${LONG_NAME}/messages`,
          `/topics/${LONG_NAME}/groups/${LONG_NAME}`,
        ]) {
          const page = await site.visit(path, { width })
          await isShownLive(page)
          await page.getByText(LONG_NAME.slice(0, 20)).first().waitFor()
          assert.deepEqual(await sticksOut(page), [], `${path} at ${width}`)
        }
      }
      await group.stop()
    })
  })
}
