import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import { after, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { SKIPPED } from '../browser/browser.ts'
import { ENGINES } from '../browser/engines.ts'
import { startServerProcess } from '../browser/processes.ts'
import { isShownLive } from '../browser/screens.ts'
import { useSite } from '../browser/site.ts'

const AWAY = /Failed to load resource|ERR_|401/

for (const engine of ENGINES) {
  describe(`the connection, on ${engine.name}`, { skip: SKIPPED }, () => {
    const site = useSite({}, engine)

    it('greys everything while the server is gone, and continues with what was missed when it is back', async () => {
      await site.tm.configureTopic('orders', { semantics: 'pub-sub' })
      await using server = await startServerProcess(site.databaseUrl)
      const page = await site.open(`${server.url}/topics/orders`, { expected: AWAY })
      await isShownLive(page)
      await server.kill()
      await page.locator('.connection', { hasText: /last .* retrying/ }).waitFor()
      await page.locator('.shell.stale').waitFor()
      await site.tm.publish('orders', { while: 'nobody looked' })
      await server.restart()
      await isShownLive(page)
      await page
        .getByText(/Back after \d+ s/)
        .first()
        .waitFor()
      await page.locator('.fact', { hasText: 'Kept' }).locator('dd', { hasText: /^1$/ }).waitFor()
      assert.equal(await page.locator('.shell.stale').count(), 0)
    })

    it('says in a banner since when the server is gone, after a minute', async () => {
      await site.tm.configureTopic('orders', { semantics: 'pub-sub' })
      await using server = await startServerProcess(site.databaseUrl)
      const page = await site.open(`${server.url}/topics`, { expected: AWAY })
      await isShownLive(page)
      await server.kill()
      await page.locator('.connection', { hasText: /last .* retrying/ }).waitFor()
      assert.equal(await page.locator('.banner').count(), 0)
      await page.clock.install()
      await page.clock.fastForward(61_000)
      await page.locator('.banner', { hasText: /has not answered since \d\d:\d\d:\d\d/ }).waitFor()
      await page.clock.resume()
      await server.restart()
      await isShownLive(page)
      assert.equal(await page.locator('.banner').count(), 0)
    })

    it('offers to reload when a server of another version answers, and never does it alone', async () => {
      const older = await startProxy(site.url)
      after(() => older.server.close())
      const page = await site.open(`${older.url}/topics`, { expected: AWAY })
      await isShownLive(page)
      older.version = '99.0.0'
      older.cut()
      await page.getByRole('button', { name: 'Reload' }).waitFor()
      await isShownLive(page)
      await Promise.all([page.waitForEvent('load'), page.getByRole('button', { name: 'Reload' }).click()])
      await isShownLive(page)
      assert.equal(await page.getByRole('button', { name: 'Reload' }).count(), 0)
    })

    it('offers to reload when a server of the same version has another page', async () => {
      const other = await startProxy(site.url)
      after(() => other.server.close())
      const page = await site.open(`${other.url}/topics`, { expected: AWAY })
      await isShownLive(page)
      assert.equal(await page.getByRole('button', { name: 'Reload' }).count(), 0)
      other.page = '0123456789ab'
      other.cut()
      await page.getByRole('button', { name: 'Reload' }).waitFor()
      // The first checkout is back: its page is the one that is open.
      other.page = undefined
      other.cut()
      await page.getByRole('button', { name: 'Reload' }).waitFor({ state: 'detached' })
      await isShownLive(page)
    })

    it('lets go of its stream in a hidden tab, and shows everything at once when somebody looks again', async () => {
      await site.tm.configureTopic('orders', { semantics: 'pub-sub' })
      const page = await site.visit('/topics')
      await isShownLive(page)
      await page.clock.install()
      await setVisible(page, false)
      await page.clock.fastForward(11_000)
      await page.locator('.connection', { hasText: 'connecting' }).waitFor()
      await page.clock.fastForward(3_600_000)
      await site.tm.publish('orders', { after: 'an hour' })
      await setVisible(page, true)
      await page.clock.resume()
      await isShownLive(page)
      await page.locator('tr', { hasText: 'orders' }).first().waitFor()
      assert.equal(await page.getByText(/Back after/).count(), 0, 'nobody lost anything')
    })

    it('keeps seven tabs of one person alive', async () => {
      const context = await site.browser.person()
      const pages: Page[] = []
      for (let tab = 0; tab < 7; tab++) {
        for (const other of pages) await setVisible(other, false)
        pages.push(await site.visit('/topics', { context }))
        await isShownLive(pages.at(-1) as Page)
      }
      const last = pages.at(-1) as Page
      const answer = await last.evaluate(async () => (await fetch('/api/v1/topics')).status)
      assert.equal(answer, 200)
    })
  })
}

type Document = { visibilityState: string; dispatchEvent(event: unknown): void }

/** Headless Chromium shows every tab, so what a hidden one is told is told by hand. */
async function setVisible(page: Page, isVisible: boolean): Promise<void> {
  await page.evaluate(isShown => {
    const { document, Event } = globalThis as unknown as { document: Document; Event: new (name: string) => unknown }
    Object.defineProperty(document, 'visibilityState', {
      get: () => (isShown ? 'visible' : 'hidden'),
      configurable: true,
    })
    document.dispatchEvent(new Event('visibilitychange'))
  }, isVisible)
}

type Proxy = {
  readonly url: string
  readonly server: Server
  version: string | undefined
  page: string | undefined
  cut(): void
}

/** The same server, which says in its stream that it is of another version, or has another page. */
async function startProxy(target: string): Promise<Proxy> {
  const server = createServer(async (request, reply) => {
    const headers = Object.fromEntries(
      Object.entries(request.headers).filter(
        ([name]) => !['host', 'connection', 'accept-encoding', 'origin'].includes(name),
      ),
    ) as Record<string, string>
    const aborted = new AbortController()
    reply.on('close', () => aborted.abort())
    try {
      const answer = await fetch(target + request.url, { headers, signal: aborted.signal })
      const kept = [...answer.headers].filter(
        ([name]) => !['content-encoding', 'content-length', 'transfer-encoding', 'connection'].includes(name),
      )
      reply.writeHead(answer.status, Object.fromEntries(kept))
      const decoder = new TextDecoder()
      for await (const bytes of answer.body ?? []) {
        const text = decoder.decode(bytes, { stream: true })
        const { version, page } = proxy
        const renamed = version === undefined ? text : text.replace(/"version":"[^"]*"/, `"version":"${version}"`)
        reply.write(page === undefined ? renamed : renamed.replace(/"page":"[^"]*"/, `"page":"${page}"`))
      }
      reply.end()
    } catch {
      reply.destroy()
    }
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const proxy: Proxy = {
    url: `http://127.0.0.1:${port}`,
    server,
    version: undefined,
    page: undefined,
    cut: () => server.closeAllConnections(),
  }
  return proxy
}
