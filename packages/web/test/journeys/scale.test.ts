import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SKIPPED } from '../browser/browser.ts'
import { isShownLive } from '../browser/screens.ts'
import { useSite } from '../browser/site.ts'

const TOPICS = 500
const GROUPS = 64

describe('a server with 500 topics', { skip: SKIPPED }, () => {
  const site = useSite()

  it('and 64 groups on one of them shows them all, stays quick to type in, and finds one', async () => {
    const names = Array.from({ length: TOPICS }, (_, n) => `topic-${String(n).padStart(3, '0')}`)
    for (const name of names) await site.tm.configureTopic(name, { semantics: 'pub-sub' })
    const groups = Array.from({ length: GROUPS }, (_, n) => {
      const group = site.tm.consumerGroup('topic-007', `group-${String(n).padStart(2, '0')}`)
      group.addConsumer('one', async () => undefined)
      return group
    })
    for (const group of groups) await group.start({ from: 'now' })
    await site.tm.publish('topic-007', { n: 1 })
    const page = await site.visit('/topics')
    await isShownLive(page)
    await page.getByText('topic-000').first().waitFor()
    await page
      .locator('main')
      .getByRole('searchbox')
      .or(page.getByPlaceholder(/Filter/))
      .first()
      .fill('topic-499')
    await page.getByText('topic-499').first().waitFor()
    await page.goto(new URL('/topics/topic-007', site.url).href)
    await page.getByText('group-63').first().waitFor()
    await page.goto(new URL('/', site.url).href)
    await isShownLive(page)
    const elements = await page.evaluate('document.querySelectorAll("*").length')
    assert.ok(Number(elements) < 20_000, `${elements} elements on the overview`)
    for (const group of groups) await group.stop()
  })
})
