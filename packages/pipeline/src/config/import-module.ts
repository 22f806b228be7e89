import { isAbsolute, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { CodedError } from 'tidemark'
import { lendPackages } from './lend-packages.ts'
import { loadProblem } from './load-problem.ts'

/** Whether a text is the path of a module rather than one of our names. */
export const isModulePath = (text: string): boolean => /^\.{0,2}\//.test(text)

/** Imports the user's module at this path; if that fails, `problem` creates the error. */
export async function importModule(
  path: string,
  folder: string,
  problem: (file: string, text: string, cause: unknown) => CodedError,
): Promise<{ readonly file: string; readonly exported: unknown }> {
  lendPackages()
  const file = isAbsolute(path) ? path : resolve(folder, path)
  try {
    const module: { readonly default?: unknown } = await import(pathToFileURL(file).href)
    return { file, exported: module.default }
  } catch (cause) {
    throw problem(file, loadProblem(cause), cause)
  }
}
