import { buildPackage } from '../../build/build-package.ts'

await buildPackage({ folder: import.meta.dirname })
