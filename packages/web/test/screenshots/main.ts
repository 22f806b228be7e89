/**
 * npm run screenshots [-- <folder>]: every screen in four widths and two themes, empty and with the demonstration, into a folder
 * (default: screenshots, which git ignores), and the pictures of README.md and docs/guides/web-page.md.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { temporaryFolder } from '../../../../testing/folders.ts'
import { startTidemark, tidemark } from '../../../cli/test/command.ts'
import { SKIPPED, TestBrowser } from '../browser/browser.ts'
import { type Shot, shoot } from './camera.ts'
import { type Screen, screensOf, waitForDemonstration } from './screens.ts'
import { recordTwentySeconds } from './twenty-seconds.ts'

const WIDTHS = { 360: 740, 768: 1024, 1440: 900, 2560: 1440 } as const
const THEMES = ['light', 'dark'] as const
const PICTURES = resolve(import.meta.dirname, '../../../../docs/pictures')

if (SKIPPED) throw new Error('There is no chromium on the PATH. Install one, such as with apt-get install chromium')
const folder = resolve(process.argv[2] ?? 'screenshots')
using data = temporaryFolder()
await using full = startTidemark(['start', '--data', join(data.path, 'full'), '--no-config', '--port', '0'])
const emptyDatabase = `sqlite:${join(data.path, 'empty.db')}`
await tidemark(['migrate', '--database', emptyDatabase])
await using empty = startTidemark(['serve', '--database', emptyDatabase, '--port', '0'])
await using browser = await TestBrowser.launch()
const address = /http:\/\/[\w.:]+/
const [emptyUrl] = await empty.waitFor(address)
const [fullUrl] = await full.waitFor(address)

console.log('waiting until the demonstration has a dead group, a dead letter and a grown world')
await waitForDemonstration(fullUrl)
await takePictures()
await recordTwentySeconds(browser, fullUrl, join(PICTURES, 'twenty-seconds.webp'))
await takeAll('full', fullUrl, await screensOf(fullUrl))
await takeAll('empty', emptyUrl, await screensOf(emptyUrl))

async function takeAll(state: 'empty' | 'full', url: string, screens: readonly Screen[]): Promise<void> {
  for (const [width, height] of Object.entries(WIDTHS)) {
    for (const colorScheme of THEMES) {
      const into = join(folder, `${width}-${colorScheme}-${state}`)
      mkdirSync(into, { recursive: true })
      const context = await browser.person({ width: Number(width), height, colorScheme })
      for (const { name, path } of screens)
        await take({ context, url: url + path, format: 'png' }, join(into, `${name}.png`))
      await context.close()
    }
  }
}

async function takePictures(): Promise<void> {
  mkdirSync(PICTURES, { recursive: true })
  const screens = await screensOf(fullUrl)
  for (const [name, picture] of [
    ['overview', 'control-room'],
    ['world', 'world'],
  ] as const) {
    for (const colorScheme of THEMES) {
      const context = await browser.person({ width: 1440, height: 900, colorScheme, more: { deviceScaleFactor: 1.25 } })
      const path = screens.find(screen => screen.name === name)?.path
      await take({ context, url: fullUrl + path, format: 'webp' }, join(PICTURES, `${picture}-${colorScheme}.webp`))
      await context.close()
    }
  }
}

async function take(shot: Omit<Shot, 'browser'>, file: string): Promise<void> {
  const { bytes, problems } = await shoot({ browser, ...shot })
  writeFileSync(file, bytes)
  console.log(`${file} ${Math.round(bytes.length / 1000)} kB ${problems.join(' ')}`.trim())
}
