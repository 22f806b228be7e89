import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { describe, it } from 'node:test'
import type { BrowserContext, Page } from 'playwright-core'
import { SKIPPED } from '../browser/browser.ts'
import { ENGINES } from '../browser/engines.ts'
import { faultsOf } from '../browser/faults.ts'
import { isShownLive } from '../browser/screens.ts'
import { useSite } from '../browser/site.ts'

const READ = 'kJ8-vq2LmW9x_Tz4RbY7'
const ADMIN = 'pQ4-xn7HsD2c_Vw9KfB3'
const REFUSED = /status of (401|403|429)|ERR_/

for (const engine of ENGINES) {
  describe(`a session, on ${engine.name}`, { skip: SKIPPED }, () => {
    const site = useSite({ tokens: { read: READ, admin: ADMIN } }, engine)
    const place = '/topics/orders/groups/email'

    const prepare = async (): Promise<void> => {
      await site.tm.configureTopic('orders', { semantics: 'pub-sub' })
      const group = site.tm.consumerGroup('orders', 'email')
      group.addConsumer('one', async () => undefined)
      await group.start({ from: 'now' })
      await group.stop()
    }

    it('begins with a token, keeps to its role, changes it and ends', async () => {
      await prepare()
      const page = await site.visit(place, { expected: REFUSED })
      await page.getByLabel('Token').waitFor()
      assert.deepEqual(await faultsOf(page), [], 'the login')
      await enter(page, 'wrong-token')
      await page.getByRole('alert').filter({ hasText: 'not known' }).waitFor()
      await enter(page, READ)
      await isShownLive(page)
      const pause = page.getByRole('button', { name: 'Pause' })
      await pause.waitFor()
      assert.ok((await pause.isDisabled()) || (await pause.getAttribute('aria-disabled')) === 'true')
      await page.locator('.role', { hasText: 'read' }).click()
      await enter(page, ADMIN)
      await page.locator('.role', { hasText: 'admin' }).waitFor()
      assert.ok(await pause.isEnabled())
      await page.locator('.role').click()
      await page.getByRole('button', { name: 'Log out' }).click()
      await page.getByLabel('Token').waitFor()
      assert.equal(new URL(page.url()).pathname, place)
      const stored = await page.evaluate(
        'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href])',
      )
      assert.doesNotMatch(String(stored), new RegExp(`${READ}|${ADMIN}`), 'a token is kept nowhere')
    })

    it('that is over asks for a token over the page, and everything is where it was', async () => {
      await prepare()
      const page = await site.visit(place, { expected: REFUSED })
      await enter(page, ADMIN)
      await isShownLive(page)
      await page.context().clearCookies()
      // What the page asks for by itself may be refused before the click; the login is then in front of the button.
      const token = page.getByLabel('Token').waitFor()
      await Promise.any([token, page.getByRole('button', { name: 'Pause' }).click()])
      await token
      await enter(page, ADMIN)
      await isShownLive(page)
      await page.locator('h1', { hasText: 'email' }).waitFor()
      assert.equal(new URL(page.url()).pathname, place)
    })

    it('is of no use to a page of another port', async () => {
      await prepare()
      const page = await site.visit(place, { expected: REFUSED })
      await enter(page, ADMIN)
      await isShownLive(page)
      await using foreign = await startForeignPage()
      const { read } = await triesOf(page.context(), `${site.url}/login`, site.url)
      assert.deepEqual(read, { status: 200, hasCookie: true }, 'the page of the server itself')
      const refused = { status: 403, hasCookie: true }
      assert.deepEqual(await triesOf(page.context(), foreign.url, site.url), { read: refused, write: refused })
      const { status } = (await site.tm.admin.groups('orders')).find(({ group }) => group === 'email') ?? {}
      assert.equal(status, 'ACTIVE')
    })

    it('is not to be guessed: after ten wrong tokens the page says how long to wait', async () => {
      const guarded = await site.serve({ tokens: { admin: ADMIN } })
      const page = await site.open(`${guarded.url}/topics`, { expected: REFUSED })
      const wait = page.getByRole('alert').filter({ hasText: /Try again in \d+ s/ })
      for (let guess = 0; guess < 12 && (await wait.count()) === 0; guess++) {
        const answered = page.waitForResponse(answer => answer.request().method() === 'POST')
        await enter(page, `guess-${guess}`)
        await answered
        await page.locator('dialog.login [role=alert]').first().waitFor()
      }
      await wait.waitFor()
      assert.ok(await page.getByRole('button', { name: 'Open' }).isDisabled())
    })
  })
}

async function enter(page: Page, token: string): Promise<void> {
  await page.getByLabel('Token').fill(token)
  await page.getByRole('button', { name: 'Open', exact: true }).click()
}

/** Without an icon of its own the browser would ask for one, and that answer would be taken for the one of a try. */
const FOREIGN = '<title>foreign</title><link rel="icon" href="data:,">'

async function startForeignPage(): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer((_, reply) => reply.setHeader('content-type', 'text/html').end(FOREIGN))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  return {
    url: `http://127.0.0.1:${port}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

type Try = { readonly status: number | undefined; readonly hasCookie: boolean }

/**
 * What the server answers to a page of another port that uses the cookie of somebody who is logged in. The browser itself is asked:
 * the page sees nothing of the answer, whatever it is.
 */
async function triesOf(context: BrowserContext, from: string, server: string): Promise<Record<string, Try>> {
  const page = await context.newPage()
  await page.goto(from)
  const session = await context.newCDPSession(page)
  await session.send('Network.enable')
  const attempt = async (method: string, path: string): Promise<Try> => {
    const sent = new Promise<boolean>(resolve =>
      session.once('Network.requestWillBeSentExtraInfo', ({ associatedCookies }) =>
        resolve(associatedCookies.some(({ blockedReasons }) => blockedReasons.length === 0)),
      ),
    )
    const answered = new Promise<number>(resolve =>
      session.once('Network.responseReceivedExtraInfo', ({ statusCode }) => resolve(statusCode)),
    )
    const request = {
      method,
      mode: 'no-cors',
      credentials: 'include',
      ...(method === 'POST' && { body: '{}' }),
    } as const
    await page.evaluate(
      ([url, options]) =>
        fetch(url, options).then(
          () => undefined,
          () => undefined,
        ),
      [server.replace(/\/$/, '') + path, request] as const,
    )
    return { status: await answered, hasCookie: await sent }
  }
  const found = {
    read: await attempt('GET', '/api/v1/topics'),
    write: await attempt('POST', '/api/v1/topics/orders/groups/email/pause'),
  }
  await page.close()
  return found
}
