import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { CDPSession, Page } from 'playwright-core'
import { spawnScript } from '../../../../testing/processes.ts'
import { SKIPPED } from '../browser/browser.ts'
import { ENGINES } from '../browser/engines.ts'
import { isShownLive } from '../browser/screens.ts'
import { useSite } from '../browser/site.ts'

const SCRIPTS = new URL('../browser/scripts/', import.meta.url)
const MEASURED_MS = 10_000

/** Times are printed, since they tell of the machine as much as of the page; bytes are asserted. */
for (const engine of ENGINES) {
  describe(`the page stays within its budget, on ${engine.name}`, { skip: SKIPPED }, () => {
    const site = useSite({}, engine)

    it('of script: 60 kB for the control room, 100 kB with the world', async t => {
      const page = await site.visit('/', { expected: /status of 404/ })
      const received = await watchBytes(page)
      await page.reload()
      await isShownLive(page)
      const room = received.scripts()
      await page.goto(new URL('/runs/20260102-00000000-550e8400-e29b-41d4-a716-446655440000', site.url).href)
      await isShownLive(page)
      await page.locator('main h1, main .problem').first().waitFor()
      const all = received.scripts()
      t.diagnostic(`script: ${kB(room)} control room, ${kB(all)} with the world`)
      assert.ok(room <= 60_000, `${room} bytes of script for the control room`)
      assert.ok(all <= 100_000, `${all} bytes of script with the world`)
    })

    it('of time until something useful is seen: 1 s', async t => {
      const page = await site.visit('/topics')
      const paint = await page.evaluate(async () => {
        type Entry = { readonly name: string; readonly startTime: number }
        const { performance } = globalThis as unknown as { performance: { getEntriesByType(type: string): Entry[] } }
        return performance.getEntriesByType('paint').find(({ name }) => name === 'first-contentful-paint')?.startTime
      })
      await isShownLive(page)
      t.diagnostic(`first contentful paint: ${Math.round(Number(paint))} ms`)
    })

    it('of stream and main thread at 50 groups with four messages a second: 10 kB/s, 10 %', async t => {
      await site.tm.configureTopic('busy', { semantics: 'pub-sub' })
      await using groups = spawnScript(new URL('groups.ts', SCRIPTS), [site.databaseUrl, 'busy', '50'])
      await groups.waitForLine('started', 60_000)
      const page = await site.visit('/topics')
      const received = await watchBytes(page)
      await page.reload()
      await isShownLive(page)
      await delay(3_000)
      const before = { bytes: received.stream(), ...(await metricsOf(received.session)) }
      await delay(MEASURED_MS)
      const after = { bytes: received.stream(), ...(await metricsOf(received.session)) }
      const perSecond = (after.bytes - before.bytes) / (MEASURED_MS / 1000)
      const share = (after.taskSeconds - before.taskSeconds) / (after.seconds - before.seconds)
      t.diagnostic(`50 groups at 4/s: ${kB(perSecond)} a second, main thread ${(share * 100).toFixed(1)} %`)
      t.diagnostic(`memory: ${(after.heap / 1e6).toFixed(1)} MB of script objects`)
      assert.ok(perSecond <= 10_000, `${perSecond} bytes a second`)
      assert.ok(share <= 0.1, `the main thread works ${share} of the time`)
    })

    it('of server time: next to nothing for each who watches', async t => {
      await watchWith(t, 1)
      await watchWith(t, 7)
      await watchWith(t, 50)
    })

    async function watchWith(t: TestContext, count: number): Promise<void> {
      await using watchers = spawnScript(new URL('watchers.ts', SCRIPTS), [site.url.replace(/\/$/, ''), String(count)])
      while (watchers.lines.length < count) await watchers.waitForLine('watching').then(() => delay(50))
      assert.deepEqual([...new Set(watchers.lines)], ['watching'])
      const before = process.cpuUsage()
      await delay(5_000)
      const { user, system } = process.cpuUsage(before)
      t.diagnostic(`${count} watching: ${((user + system) / 5e4).toFixed(1)} % of one processor`)
    }
  })
}

const kB = (bytes: number): string => `${(bytes / 1000).toFixed(1)} kB`

type Received = { readonly session: CDPSession; scripts(): number; stream(): number }

/** Bytes on the wire, by the browser's own count. */
async function watchBytes(page: Page): Promise<Received> {
  const session = await page.context().newCDPSession(page)
  await session.send('Network.enable')
  await session.send('Network.setCacheDisabled', { cacheDisabled: true })
  // Processor time, which other work on the machine does not lengthen.
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  const urls = new Map<string, string>()
  const scripts = new Map<string, number>()
  let streamed = 0
  session.on('Network.requestWillBeSent', ({ requestId, request }) => urls.set(requestId, request.url))
  session.on('Network.dataReceived', ({ requestId, encodedDataLength, dataLength }) => {
    if (urls.get(requestId)?.includes('/api/v1/events')) streamed += encodedDataLength || dataLength
  })
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    const url = urls.get(requestId) ?? ''
    if (url.endsWith('.js')) scripts.set(url, encodedDataLength)
  })
  return {
    session,
    scripts: () => [...scripts.values()].reduce((sum, each) => sum + each, 0),
    stream: () => streamed,
  }
}

async function metricsOf(session: CDPSession): Promise<{ taskSeconds: number; seconds: number; heap: number }> {
  const { metrics } = await session.send('Performance.getMetrics')
  const value = (name: string): number => metrics.find(metric => metric.name === name)?.value ?? 0
  return { taskSeconds: value('TaskDuration'), seconds: value('Timestamp'), heap: value('JSHeapUsedSize') }
}
