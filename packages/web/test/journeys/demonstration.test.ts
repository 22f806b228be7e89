import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { temporaryFolder } from '../../../../testing/databases.ts'
import { until } from '../../../../testing/until.ts'
import { type RunningCommand, startTidemark } from '../../../cli/test/command.ts'
import { SKIPPED, TestBrowser } from '../browser/browser.ts'
import { isShownLive } from '../browser/screens.ts'
import { screensOf } from '../screenshots/screens.ts'

/** Their figures change by themselves; the others wait for something to happen, or to be asked. */
const MOVING = ['overview', 'topics', 'topic', 'group', 'services', 'world']

/** `npm start`, as a visitor finds it: nothing was built or configured. */
describe('the demonstration', { skip: SKIPPED }, () => {
  const folder = temporaryFolder()
  let command: RunningCommand
  let browser: TestBrowser
  let url: string

  before(async () => {
    command = startTidemark(['start', '--data', join(folder.path, 'data'), '--no-config', '--port', '0'])
    browser = await TestBrowser.launch()
    ;[url] = await command.waitFor(/http:\/\/[\w.:]+/)
    await until(async () => (await screensOf(url)).some(({ name }) => name === 'world'), {
      what: 'a world to be indexed',
      timeout: 60_000,
    })
  })

  after(async () => {
    await browser?.[Symbol.asyncDispose]()
    await command?.[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  it('shows every screen with live data, without an error and without asking elsewhere', async () => {
    const found: string[] = []
    const context = await browser.person()
    for (const { name, path } of await screensOf(url)) {
      const { page, problems } = await browser.open(url + path, { context })
      await isShownLive(page)
      await page.locator('main h1').waitFor()
      const first = await page.locator('main').innerText()
      await until(async () => !MOVING.includes(name) || (await page.locator('main').innerText()) !== first, {
        what: `something to change on ${name}`,
      })
      found.push(...problems.map(problem => `${name}: ${problem}`))
      if ((await page.locator('main .problem').count()) > 0)
        found.push(`${name}: ${await page.locator('main .problem').first().innerText()}`)
      await page.close()
    }
    await context.close()
    assert.deepEqual(found, [])
  })

  it('draws a world that moves', async () => {
    const world = (await screensOf(url)).find(({ name }) => name === 'world')
    const { page } = await browser.open(url + world?.path)
    const canvas = page.locator('canvas[data-tick]').first()
    await canvas.waitFor()
    const first = await canvas.getAttribute('data-tick')
    await until(async () => (await canvas.getAttribute('data-tick')) !== first, { what: 'another tick to be drawn' })
  })
})
