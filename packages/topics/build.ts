import { buildPackage } from '../../build/build-package.ts'

await buildPackage({
  folder: import.meta.dirname,
  entries: { index: 'src/index.ts', store: 'src/store.ts', conformance: 'src/conformance.ts' },
})
