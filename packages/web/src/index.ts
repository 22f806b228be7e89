/** The public names of `@tidemark/web` in a checkout, where the page is bundled when it is first requested. */
import { bundlePage } from './bundle.ts'
import { type Page, pageOf } from './page-files.ts'

export type { Asset, Page } from './page-files.ts'

/**
 * Loads the page.
 *
 * @example
 * const { shell, files } = await loadPage()
 * console.log(shell.length, files.size)
 */
export const loadPage = async (): Promise<Page> => await pageOf(await bundlePage())
