import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome']
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** The browser of the machine; undefined where there is none. */
const browserPath: string | undefined = (process.env.PATH ?? '')
  .split(delimiter)
  .flatMap(folder => NAMES.map(name => join(folder, name)))
  .find(file => existsSync(file) && isRunnable(file))

export const SKIPPED = browserPath === undefined && 'no chromium on the PATH: the page is not tested in a browser'

function isRunnable(file: string): boolean {
  try {
    execFileSync(file, ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** A page that counts what went wrong on it. */
export type Watched = { readonly page: Page; readonly problems: string[] }

export class TestBrowser implements AsyncDisposable {
  readonly #browser: Browser

  static async launch(): Promise<TestBrowser> {
    return new TestBrowser(
      await chromium.launch({ args: FLAGS, ...(browserPath !== undefined && { executablePath: browserPath }) }),
    )
  }

  constructor(browser: Browser) {
    this.#browser = browser
  }

  async open(
    url: string,
    { width = 1280, height = 900, colorScheme = 'dark' as 'dark' | 'light' } = {},
  ): Promise<Watched> {
    const page = await this.#browser.newPage({ viewport: { width, height }, colorScheme })
    const problems: string[] = []
    page.on('console', message => {
      if (message.type() === 'error') problems.push(message.text())
    })
    page.on('pageerror', error => problems.push(error.message))
    await page.goto(url)
    return { page, problems }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close()
  }
}
