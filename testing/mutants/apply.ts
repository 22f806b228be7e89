import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Mutant } from './mutant.ts'

/** Applies the defect to the file under `root`; disposing of it removes the defect. */
export function apply(root: string, mutant: Mutant): Disposable {
  const problem = whyNotApplicable(root, mutant)
  if (problem !== undefined) throw new Error(problem)
  const path = join(root, mutant.file)
  const original = readFileSync(path, 'utf8')
  // A function, because a replacement text may contain `$&` and the like.
  writeFileSync(
    path,
    original.replace(mutant.find, () => mutant.replace),
  )
  return { [Symbol.dispose]: () => writeFileSync(path, original) }
}

/** Undefined if it can be applied; otherwise what is wrong with the entry, and what to do. */
export function whyNotApplicable(root: string, { name, file, find, replace }: Mutant): string | undefined {
  const where = `Mutant '${name}' (${file})`
  const text = textOf(join(root, file))
  if (text === undefined) return `${where}: the file does not exist. Update 'file' in testing/mutants/areas.`
  const count = text.split(find).length - 1
  if (find === replace) return `${where}: 'find' and 'replace' are the same. Update the entry in testing/mutants/areas.`
  if (count === 1) return undefined
  const found = count === 0 ? 'its text no longer occurs' : `its text occurs ${count} times`
  return `${where}: ${found}. Update 'find' in testing/mutants/areas to text that occurs once:\n${find}`
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined // whyNotApplicable() reports it.
  }
}
