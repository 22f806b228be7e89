/**
 * npm run playing [-- <minutes> [<ticks per second>]]: plays a world of 1000 × 1000 from its first tick to its last, over
 * and over (default: for 5 minutes, 30 ticks per second), and prints how much memory the page's process has of its own and
 * how long decoding and drawing take.
 */
import { until } from '../../../../testing/until.ts'
import { SPEEDS } from '../../src/page/world/speeds.ts'
import { BareBrowser } from './bare-browser.ts'
import { startLargeWorld } from './large-world.ts'

/** More than fit into the page's memory: what is played is loaded anew in every round. */
const TICKS = 72
const DEFAULT_SPEED = 30
const minutes = Number(process.argv[2] ?? 5)
const speed = SPEEDS.findIndex(each => each === Number(process.argv[3] ?? DEFAULT_SPEED))
if (speed === -1) throw new Error(`${process.argv[3]} is not a speed of the page. Choose one of ${SPEEDS.join(', ')}`)

await using world = await startLargeWorld(TICKS)
await using browser = await BareBrowser.open(`${world.url}/runs/${world.runId}?t=0&c=type&at=500,500,1`)
const shown = async (tick: number): Promise<void> => {
  const isShown = (): Promise<boolean> =>
    browser.evaluate<boolean>(`document.querySelector('canvas[data-tick="${tick}"]') !== null`).catch(() => false) // The page has not begun.
  await until(isShown, { what: `tick ${tick} to be drawn`, timeout: 300_000 })
}
await shown(0)
for (let place = SPEEDS.indexOf(DEFAULT_SPEED); place > speed; place--) await browser.press('[', 'BracketLeft', '[')
for (let place = SPEEDS.indexOf(DEFAULT_SPEED); place < speed; place++) await browser.press(']', 'BracketRight', ']')
console.log(`before: ${MB(await browser.memory())}`)
const begun = performance.now()
for (let round = 1; performance.now() - begun < minutes * 60_000; round++) {
  await browser.press('Home', 'Home')
  await shown(0)
  const start = performance.now()
  await browser.press(' ', 'Space', ' ')
  await shown(TICKS - 1)
  const rate = (TICKS / (performance.now() - start)) * 1000
  const facts = await browser.evaluate<Record<string, string>>(
    `({ ...document.querySelector('canvas[data-tick]').dataset })`,
  )
  console.log(
    `round ${round}, ${(round * TICKS).toLocaleString('en')} ticks: ${MB(await browser.memory())}; ${rate.toFixed(1)} ticks/s; ` +
      `${facts.kept} kept; decoded and packed in ${facts.decodeMs} ms, drawn in ${facts.drawMs} ms`,
  )
}

function MB(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`
}
