/** The public names of `@tidemark/web` as published: the page was bundled when the package was built. */
import { readdir, readFile } from 'node:fs/promises'
import { type Page, pageOf } from './page-files.ts'

export type { Asset, Page } from './page-files.ts'

const FOLDER = new URL('./page/', import.meta.url)
const SHELL = 'shell.html'

/**
 * Loads the page.
 *
 * @example
 * const { shell, files } = await loadPage()
 * console.log(shell.length, files.size)
 */
export async function loadPage(): Promise<Page> {
  const names = await readdir(FOLDER)
  const files = names
    .filter(name => name !== SHELL)
    .map(async name => ({ name, bytes: await readFile(new URL(name, FOLDER)) }))
  return await pageOf({ shell: await readFile(new URL(SHELL, FOLDER), 'utf8'), files: await Promise.all(files) })
}
