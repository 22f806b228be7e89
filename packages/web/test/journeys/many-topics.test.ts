import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SKIPPED } from '../browser/browser.ts'
import { factIs } from '../browser/screens.ts'
import { useSite } from '../browser/site.ts'

describe('many topics on the page', { skip: SKIPPED }, () => {
  const site = useSite()

  it('stay quick with 500 of them and 64 groups, and are found by words and order', async () => {
    for (let index = 0; index < 500; index++) {
      await site.tm.configureTopic(`many.${String(index).padStart(3, '0')}`, { semantics: 'pub-sub' })
    }
    for (let group = 0; group < 64; group++) await site.tm.reader('many.000', { group: `group-${group}` }).ready()
    await site.tm.publish('many.000', { n: 1 })
    const page = await site.visit('/topics?q=many')
    await page.getByText('many.000', { exact: true }).waitFor()
    assert.ok((await page.locator('tbody tr').count()) < 100, 'only what is seen is drawn')
    await page.evaluate('scrollTo(0, document.body.scrollHeight)')
    await page.getByText('many.499', { exact: true }).waitFor()
    await page.evaluate('scrollTo(0, 0)')
    await page.getByRole('button', { name: 'Groups' }).click()
    await page.waitForURL('**sort=groups**')
    await page.locator('th[aria-sort=descending]', { hasText: 'Groups' }).waitFor()
    await page.locator('tbody tr:first-child', { hasText: 'many.000' }).waitFor()
    await page.getByLabel('Filter topics').fill('nothing like it')
    await page.getByText('None of the').waitFor()
    await page.goto(new URL('/topics/many.000', site.url).href)
    await page.locator('.lane').nth(63).waitFor()
    await factIs(page, 'Kept', /^1$/)
  })

  it('show the first 2000, and say how many more there are', async () => {
    const others = (await site.tm.admin.topics()).length
    for (let index = others; index < 2_005; index++) await site.tm.configureTopic(`more.${index}`)
    const page = await site.visit('/topics')
    const says = page.getByText(/^2.000 topics are shown, and 5 more are left out/)
    await says.waitFor()
    await page.goto(new URL('/', site.url).href)
    await says.waitFor()
    await page.getByText(/^Topics 2.005/).waitFor()
  })
})
