import { join } from 'node:path'
import { rolldown } from 'rolldown'
import { inlineFiles } from './inline-files.ts'

/** Node 22 has no `using`, so it is written in other words. */
const TARGET = 'node22'

/** Names in dist, each with its file. */
export type Files = { readonly [name: string]: string }

/**
 * One file for each entry, one for each part that is loaded on first use, and `shared.js` for those of the modules `shared`
 * that two of them use. The texts of .sql files are within; what a package depends on stays outside.
 */
export async function writeJavaScript(files: Files, folder: string, dir: string, shared = /./): Promise<void> {
  await using bundle = await rolldown({
    input: inFolder(files, folder),
    platform: 'node',
    external: isOutside,
    transform: { target: TARGET },
    plugins: [inlineFiles(folder)],
    onLog: refuseWarnings,
  })
  await bundle.write({
    dir,
    entryFileNames: '[name].js',
    chunkFileNames: ({ facadeModuleId, name }) => `${nameOfPart(facadeModuleId) ?? name}.js`,
    minifyInternalExports: false,
    codeSplitting: { groups: [{ name: 'shared', test: shared, minShareCount: 2 }] },
  })
}

/** `stores/postgres/engine.ts`, which is loaded on first use, becomes `postgres.js`. */
const nameOfPart = (module: string | null | undefined): string | undefined =>
  /\/([a-z-]+)\/(?:engine|index-database)\.ts$/.exec(module ?? '')?.[1]

export const inFolder = (files: Files, folder: string): Record<string, string> =>
  Object.fromEntries(Object.entries(files).map(([name, file]) => [name, join(folder, file)]))

/** Everything but the files of the package itself, and what the compiler puts in the place of newer syntax. */
export const isOutside = (id: string): boolean => !/^([./]|@oxc-project\/runtime)/.test(id)

/** All but how long plugins took: on a busy machine that is not the build's fault. */
export function refuseWarnings(level: string, log: { readonly code?: string; readonly message: string }): void {
  if (level === 'warn' && log.code !== 'PLUGIN_TIMINGS') throw new Error(`The build warns: ${log.message}`)
}
