import { join } from 'node:path'
import { buildPackage, makeExecutable } from '../../build/build-package.ts'
import { SHARED_IN_CLI } from '../../build/shared-in-cli.ts'

// The packages it is built on come first: their types are read from their dist.
await buildPackage({
  folder: import.meta.dirname,
  programs: { main: 'src/main.ts', 'restarted-group': 'src/demo/restarted-group.ts' },
  shared: SHARED_IN_CLI,
})
makeExecutable(join(import.meta.dirname, 'dist/main.js'))
