import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildPackage } from '../../build/build-package.ts'
import { bundlePage } from './src/bundle.ts'

await buildPackage({ folder: import.meta.dirname, entries: { index: './src/built.ts' } })
const folder = join(import.meta.dirname, 'dist/page')
const { shell, files } = await bundlePage()
mkdirSync(folder)
writeFileSync(join(folder, 'shell.html'), shell)
for (const { name, bytes } of files) writeFileSync(join(folder, name), bytes)
