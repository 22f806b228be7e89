import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { BROWSER_FLAGS, browserPath, SHARED_BROWSER } from './browser-path.ts'

export const SKIPPED = browserPath === undefined && 'no chromium on the PATH: the page is not tested in a browser'

/** A busy machine takes longer than the 30 seconds that Playwright waits for. */
const PATIENCE_MS = 90_000

/** A page that counts what went wrong on it. */
export type Watched = { readonly page: Page; readonly problems: string[] }

export type Visit = {
  readonly width?: number
  readonly height?: number
  readonly colorScheme?: 'dark' | 'light'
  /** Several pages of one person share cookies and what the page keeps. */
  readonly context?: BrowserContext
  readonly more?: BrowserContextOptions
}

export class TestBrowser implements AsyncDisposable {
  readonly #browser: Browser

  /** The browser of the whole run; a test file that is run by itself starts one. */
  static async launch(): Promise<TestBrowser> {
    const shared = process.env[SHARED_BROWSER]
    return new TestBrowser(
      shared === undefined
        ? await chromium.launch({
            args: [...BROWSER_FLAGS],
            ...(browserPath !== undefined && { executablePath: browserPath }),
          })
        : await chromium.connect(shared),
    )
  }

  constructor(browser: Browser) {
    this.#browser = browser
  }

  async open(url: string, visit: Visit = {}): Promise<Watched> {
    const page = await (visit.context ?? (await this.person(visit))).newPage()
    const problems = watch(page, new URL(url).origin)
    await page.goto(url)
    return { page, problems }
  }

  /** Somebody with a browser of their own: nothing is shared with others. */
  async person({ width = 1280, height = 900, colorScheme = 'dark', more = {} }: Visit = {}): Promise<BrowserContext> {
    const context = await this.#browser.newContext({ viewport: { width, height }, colorScheme, ...more })
    context.setDefaultTimeout(PATIENCE_MS)
    context.setDefaultNavigationTimeout(PATIENCE_MS)
    return context
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#browser.contexts().map(context => context.close()))
    await this.#browser.close()
  }
}

/** Errors in the console, errors of the script, and every request that leaves the server's own address. */
function watch(page: Page, origin: string): string[] {
  const problems: string[] = []
  page.on('console', message => {
    if (message.type() === 'error') problems.push(`${message.text()} ${message.location().url}`.trim())
  })
  page.on('pageerror', error => problems.push(error.message))
  page.on('request', request => {
    const url = new URL(request.url())
    if (url.protocol.startsWith('http') && url.origin !== origin) problems.push(`asks elsewhere: ${url}`)
  })
  return problems
}
