import { buildPackage } from '../../build/build-package.ts'

// `tidemark` is built first: its types are read from its dist.
await buildPackage({ folder: import.meta.dirname })
