import { globSync } from 'node:fs'
import { basename } from 'node:path'
import { buildPackage } from '../../build/build-package.ts'

/** What the suites of `tidemark/conformance` run in processes of their own, beside them. */
const scripts = globSync('src/conformance/scripts/*.ts', { cwd: import.meta.dirname })
const programs = Object.fromEntries(scripts.map(file => [`scripts/${basename(file, '.ts')}`, file]))

await buildPackage({
  folder: import.meta.dirname,
  programs: { ...programs, 'end-with-parent': 'src/conformance/end-with-parent.ts' },
  // Not what the suites share: a program would load node:test with it.
  shared: /^(?!.*\/src\/conformance\/)/,
})
