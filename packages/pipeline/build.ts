import { spawnSync } from 'node:child_process'
import { cpSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Compiles src to dist for publishing, with the SQL files. `tidemark` is built first: its types are read from its dist. */
const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

rmSync(at('dist'), { recursive: true, force: true })
const compiled = spawnSync('tsc', ['--project', at('tsconfig.build.json')], { stdio: 'inherit' })
if (compiled.status !== 0) process.exit(compiled.status ?? 1)
cpSync(at('src'), at('dist'), {
  recursive: true,
  filter: path => !path.endsWith('.ts'),
})
