import { spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { rolldown } from 'rolldown'
import { dts } from 'rolldown-plugin-dts'
import { entriesOf } from './entries.ts'
import { type Files, inFolder, isOutside, refuseWarnings, writeJavaScript } from './write-javascript.ts'

export type PackageBuild = {
  readonly folder: string
  /** Names in dist, each with its file (default: what the manifest exports). */
  readonly entries?: Files
  /** Entries that are run as a command, and have no types. */
  readonly programs?: Files
  /** Modules that go into one file where two others use them (default: all). */
  readonly shared?: RegExp
}

/** From src to dist, as it is published. Without source maps: they would refer to sources that are not published. */
export async function buildPackage({ folder, programs = {}, shared, ...given }: PackageBuild): Promise<void> {
  const dist = join(folder, 'dist')
  const types = join(dist, 'types')
  const entries = given.entries ?? entriesOf(folder)
  rmSync(dist, { recursive: true, force: true })
  emitTypes(folder, types)
  await writeJavaScript({ ...entries, ...programs }, folder, dist, shared)
  await writeTypes(entries, types, dist)
  rmSync(types, { recursive: true })
  copyFileSync(join(import.meta.dirname, '../LICENSE'), join(folder, 'LICENSE'))
}

export const makeExecutable = (file: string): void => chmodSync(file, 0o755)

function emitTypes(folder: string, outDir: string): void {
  const flags = ['--project', join(folder, 'tsconfig.build.json'), '--emitDeclarationOnly', '--outDir', outDir]
  const { status } = spawnSync('tsc', flags, { stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}

/** One file for each entry, and one for what they share. */
async function writeTypes(files: Files, types: string, dir: string): Promise<void> {
  if (Object.keys(files).length === 0) return
  const declared = Object.entries(files).map(([name, file]) => [
    name,
    file.replace('./src/', '').replace('.ts', '.d.ts'),
  ])
  await using bundle = await rolldown({
    input: inFolder(Object.fromEntries(declared), types),
    external: isOutside,
    plugins: [dts({ dtsInput: true, tsconfig: false })],
    onLog: refuseWarnings,
  })
  const chunkFileNames = '[name]-types.js'
  await bundle.write({ dir, entryFileNames: '[name].js', chunkFileNames, minifyInternalExports: false })
}
