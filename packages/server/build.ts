import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Compiles src to dist for publishing. `tidemark` and `@tidemark/pipeline` are built first: their types are read from their dist. */
const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

rmSync(at('dist'), { recursive: true, force: true })
const compiled = spawnSync('tsc', ['--project', at('tsconfig.build.json')], { stdio: 'inherit' })
process.exit(compiled.status ?? 1)
