import assert from 'node:assert/strict'
import { after, afterEach, before } from 'node:test'
import { type RunningServer, type ServerOptions, startServer } from '@tidemark/server'
import type { Page } from 'playwright-core'
import { open, type Tidemark } from 'tidemark'
import { TestBrowser, type Visit } from './browser.ts'
import { type Engine, SQLITE } from './engines.ts'

export const SILENT = { debug() {}, info() {}, warn() {}, error() {} }

/** A visit during which some errors of the console belong to what is shown. */
type SiteVisit = Visit & { readonly expected?: RegExp }

/** A database, a server on it and a browser, for the tests of one `describe`. */
export type Site = {
  readonly tm: Tidemark
  readonly url: string
  readonly databaseUrl: string
  readonly browser: TestBrowser
  visit(path: string, visit?: SiteVisit): Promise<Page>
  /** Another server on the same database, which ends after the pages of the test. */
  serve(options?: ServerOptions): Promise<RunningServer>
  /** A page of another server. */
  open(url: string, visit?: SiteVisit): Promise<Page>
}

type Opened = { readonly page: Page; readonly problems: string[]; readonly expected: RegExp | undefined }

/** To be called in a `describe`. After every test, an error on any of its pages that was not expected fails it. */
export function useSite(options: ServerOptions = {}, engine: Engine = SQLITE): Site {
  let database: Awaited<ReturnType<Engine['fresh']>>
  let tm: Tidemark
  let server: RunningServer
  let browser: TestBrowser
  let opened: Opened[] = []
  const others: RunningServer[] = []

  before(async () => {
    database = await engine.fresh()
    tm = await open(database.url, { logger: SILENT, maintenance: false })
    server = await startServer({ port: 0, topics: tm, logger: SILENT, ...options })
    browser = await TestBrowser.launch()
  })

  afterEach(async () => {
    const seen = opened
    opened = []
    await Promise.all(seen.map(({ page }) => page.context().close()))
    await Promise.all(others.splice(0).map(other => other.close()))
    assert.deepEqual(seen.flatMap(unexpected), [], 'errors on the pages of this test')
  })

  after(async () => {
    await browser?.[Symbol.asyncDispose]()
    await server?.close()
    await tm?.close()
    await database?.drop()
  })

  const openPage = async (url: string, { expected, ...visit }: SiteVisit = {}): Promise<Page> => {
    const { page, problems } = await browser.open(url, visit)
    opened.push({ page, problems, expected })
    return page
  }
  return {
    get tm() {
      return tm
    },
    get url() {
      return server.url
    },
    get databaseUrl() {
      return database.url
    },
    get browser() {
      return browser
    },
    visit: (path, visit) => openPage(new URL(path, server.url).href, visit),
    open: openPage,
    async serve(more) {
      const other = await startServer({ port: 0, topics: tm, logger: SILENT, ...more })
      others.push(other)
      return other
    },
  }
}

const unexpected = ({ problems, expected }: Opened): string[] =>
  problems.filter(problem => expected === undefined || !expected.test(problem))
