import { join } from 'node:path'
import { buildPackage, makeExecutable } from '../../build/build-package.ts'

// The packages it is built on come first: their types are read from their dist.
await buildPackage({
  folder: import.meta.dirname,
  entries: {},
  programs: { main: 'src/main.ts' },
  // Not the folders of single commands: they import packages that may not be installed.
  shared: /\/src\/(output\/)?[^/]+\.ts$|oxc-project/,
})
makeExecutable(join(import.meta.dirname, 'dist/main.js'))
