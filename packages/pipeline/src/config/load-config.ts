import { existsSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ConfigError } from 'tidemark'
import { checkConfig } from './check-config.ts'
import { checkWiring, withTypes } from './check-whole.ts'
import type { CheckedConfig } from './config.ts'
import { withOverrides } from './environment-overrides.ts'
import { ConfigFileError } from './errors.ts'
import { lendPackages } from './lend-packages.ts'
import { loadProblem } from './load-problem.ts'
import { withResolvedPaths } from './resolve-paths.ts'
import type { WholeConfig } from './whole-config.ts'

/** Options of loading a configuration. */
export type LoadOptions = {
  /** Variables with TIDEMARK_PIPELINE__… settings (default: the environment of the process). */
  readonly environment?: { readonly [name: string]: string | undefined }
}

/** In search order. */
const NAMES = ['ts', 'mts', 'js', 'mjs', 'cjs'].map(extension => `tidemark.config.${extension}`)

/**
 * Path of the configuration file of a folder, or undefined.
 *
 * @example
 * const file = findConfig(process.cwd()) ?? 'no configuration'
 */
export const findConfig = (folder = '.'): string | undefined =>
  NAMES.map(name => join(folder, name)).find(file => existsSync(file))

/** A folder stands for the configuration in it. */
function fileOf(path: string): string {
  const file = resolve(path)
  if (!statSync(file, { throwIfNoEntry: false })?.isDirectory()) return file
  const found = findConfig(file)
  if (found === undefined)
    throw new ConfigFileError(
      file,
      `it is a folder without ${NAMES[0]}. Name a file, or write one with 'tidemark config init'`,
    )
  return found
}

/**
 * Loads and checks a configuration file with the settings of the environment. Every error names the file.
 *
 * @example
 * await using pipeline = await runPipeline(await loadConfig('tidemark.config.ts'))
 */
export async function loadConfig(path: string, options: LoadOptions = {}): Promise<CheckedConfig> {
  const whole = await readConfig(path, options)
  await ofFile(fileOf(path), async () => checkWiring(whole))
  return whole.config
}

/**
 * Loads a configuration file without checking that its services fit together, so that some can be left out.
 *
 * @example
 * const { config } = await readConfig('tidemark.config.ts')
 * console.log(config.services.length)
 */
export async function readConfig(path: string, { environment = process.env }: LoadOptions = {}): Promise<WholeConfig> {
  const file = fileOf(path)
  const given = await importDefault(file)
  return await ofFile(file, async () => {
    const { config, types } = await withTypes(checkConfig(withOverrides(given, environment), dirname(file)))
    return { config: withResolvedPaths(config, service => types.get(service)?.options ?? {}), types }
  })
}

/** Adds the name of the file to every error. */
export async function ofFile<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    throw new ConfigFileError(file, error.message, error)
  }
}

async function importDefault(file: string): Promise<unknown> {
  if (!existsSync(file)) {
    throw new ConfigFileError(file, "there is no such file. Write one with 'tidemark config init'")
  }
  lendPackages()
  let module: { readonly default?: unknown }
  try {
    module = await import(pathToFileURL(file).href)
  } catch (cause) {
    throw new ConfigFileError(file, loadProblem(cause), cause)
  }
  if (module.default === undefined) {
    throw new ConfigFileError(file, 'it has no default export. Write: export default defineConfig({ … })')
  }
  return module.default
}
