import { buildPackage } from '../../build/build-package.ts'

// `tidemark` and `@tidemark/pipeline` are built first: their types are read from their dist.
await buildPackage({ folder: import.meta.dirname })
