import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { describe } from 'node:test'

/**
 * Runs test files one after the other in this process, each as a suite that is named after it.
 *
 * They are required, not imported: an import is asynchronous, and its tests would become children of another suite.
 */
export function runTogether(files: readonly string[]): void {
  const load = createRequire(import.meta.url)
  for (const file of files) describe(file, () => void load(resolve(file)))
}
