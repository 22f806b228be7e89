import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SKIPPED } from '../browser/browser.ts'
import { startServerProcess } from '../browser/processes.ts'
import { isShownLive } from '../browser/screens.ts'
import { useSite } from '../browser/site.ts'

describe('what the page may do', { skip: SKIPPED }, () => {
  const site = useSite()

  it('is limited by its policy: no foreign script, no script in markup, no address but its own', async () => {
    const page = await site.visit('/topics', { expected: /Content Security Policy|Trusted|violates|asks elsewhere/i })
    await isShownLive(page)
    const tried = await page.evaluate(async () => {
      const { document, eval: run } = globalThis as unknown as {
        document: { createElement(tag: string): { innerHTML: string }; body: { append(element: unknown): void } }
        eval(text: string): unknown
      }
      const attempt = async (what: () => unknown): Promise<string> => {
        // In a turn of its own: what the test's own question runs, the policy does not see.
        return await new Promise<string>(resolve =>
          setTimeout(async () => {
            try {
              await what()
              resolve('done')
            } catch {
              resolve('refused')
            }
          }),
        )
      }
      return {
        markup: await attempt(() => {
          document.createElement('div').innerHTML = '<b>x</b>'
        }),
        eval: await attempt(() => run('1 + 1')),
        elsewhere: await attempt(() => fetch('http://127.0.0.1:9/')),
      }
    })
    assert.deepEqual(tried, { markup: 'refused', eval: 'refused', elsewhere: 'refused' })
  })

  it('is nothing where the server leaves it out', async () => {
    const { url } = await site.serve({ page: false })
    const answer = await fetch(new URL('/topics', url), { headers: { accept: 'text/html' } })
    assert.equal(answer.status, 404)
    assert.equal((await fetch(new URL('/api/v1/topics', url))).status, 200)
  })

  it('is the same with tidemark serve, without a pipeline', async () => {
    await using server = await startServerProcess(site.databaseUrl)
    await site.tm.configureTopic('orders', { semantics: 'pub-sub' })
    await site.tm.publish('orders', { n: 1 })
    for (const [path, text] of [
      ['/', /Topics|orders/],
      ['/topics', /orders/],
      ['/services', /no pipeline/],
      ['/runs', /serves no worlds|Not served here|No worlds/],
    ] as const) {
      const page = await site.open(server.url + path)
      await isShownLive(page)
      await page.locator('main').getByText(text).first().waitFor()
      assert.equal(await page.locator('main .problem').count(), 0, path)
      await page.close()
    }
  })
})
