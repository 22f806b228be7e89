import { spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type OutputOptions, rolldown } from 'rolldown'
import { dts } from 'rolldown-plugin-dts'
import { inlineFiles } from './inline-files.ts'

/** Node 22 has no `using`, so it is written in other words. */
const TARGET = 'node22'

const JAVASCRIPT: OutputOptions = {
  entryFileNames: '[name].js',
  chunkFileNames: ({ facadeModuleId, name }) => `${nameOfPart(facadeModuleId) ?? name}.js`,
  minifyInternalExports: false,
}

/** `stores/postgres/engine.ts`, which is loaded on first use, becomes `postgres.js`. */
const nameOfPart = (module: string | null | undefined): string | undefined =>
  /\/([a-z-]+)\/(?:engine|index-database)\.ts$/.exec(module ?? '')?.[1]

export type PackageBuild = {
  readonly folder: string
  /** Names in dist, each with its file in src. */
  readonly entries: { readonly [name: string]: string }
  /** Entries that are run as a command, and have no types. */
  readonly programs?: { readonly [name: string]: string }
  /** Modules that go into one file where two others use them (default: all). */
  readonly shared?: RegExp
}

/**
 * From src to dist, as it is published: one file for each entry, and one for each part that is loaded on first use. The
 * texts of .sql files are within. What a package depends on stays outside, and so do its source maps: they would refer to
 * sources that are not published.
 */
export async function buildPackage({ folder, entries, programs = {}, shared = /./ }: PackageBuild): Promise<void> {
  const dist = join(folder, 'dist')
  const types = join(dist, 'types')
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

async function writeJavaScript(
  files: PackageBuild['entries'],
  folder: string,
  dir: string,
  shared: RegExp,
): Promise<void> {
  await using bundle = await rolldown({
    input: inFolder(files, folder),
    platform: 'node',
    external: isOutside,
    transform: { target: TARGET },
    plugins: [inlineFiles(folder)],
    onLog: refuseWarnings,
  })
  await bundle.write({
    ...JAVASCRIPT,
    dir,
    codeSplitting: { groups: [{ name: 'shared', test: shared, minShareCount: 2 }] },
  })
}

async function writeTypes(files: PackageBuild['entries'], types: string, dir: string): Promise<void> {
  if (Object.keys(files).length === 0) return
  const declared = Object.entries(files).map(([name, file]) => [name, file.replace('src/', '').replace('.ts', '.d.ts')])
  await using bundle = await rolldown({
    input: inFolder(Object.fromEntries(declared), types),
    external: isOutside,
    plugins: [dts({ dtsInput: true, tsconfig: false })],
    onLog: refuseWarnings,
  })
  await bundle.write({
    dir,
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-types.js',
    minifyInternalExports: false,
  })
}

const inFolder = (files: PackageBuild['entries'], folder: string): Record<string, string> =>
  Object.fromEntries(Object.entries(files).map(([name, file]) => [name, join(folder, file)]))

/** Everything but the files of the package itself, and what the compiler puts in the place of newer syntax. */
const isOutside = (id: string): boolean => !/^([./]|@oxc-project\/runtime)/.test(id)

function refuseWarnings(level: string, log: { readonly message: string }): void {
  if (level === 'warn') throw new Error(`The build warns: ${log.message}`)
}
