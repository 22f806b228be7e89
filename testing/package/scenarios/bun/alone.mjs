// alone.mjs <files>: copies them into an empty folder and runs the first, so that whatever it needs is in them.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'

const files = process.argv.slice(2)
const folder = mkdtempSync(join(tmpdir(), 'tidemark-alone-'))
for (const file of files) cpSync(file, join(folder, basename(file)), { recursive: true })
const first = join(folder, basename(files[0]))
const [program, args] = first.endsWith('/app') ? [first, []] : [process.execPath, [first]]
const { status } = spawnSync(program, args, { cwd: folder, stdio: 'inherit' })
rmSync(folder, { recursive: true, force: true })
process.exit(status ?? 1)
