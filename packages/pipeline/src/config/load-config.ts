import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ConfigError } from 'tidemark'
import { checkConfig } from './check-config.ts'
import type { CheckedConfig } from './config.ts'
import { withOverrides } from './environment-overrides.ts'
import { ConfigFileError } from './errors.ts'

export type LoadOptions = {
  /** Where TIDEMARK_PIPELINE__… settings come from. Default: the environment of the process. */
  readonly environment?: { readonly [name: string]: string | undefined }
}

/** The configuration of a file, with the environment's settings, checked. Every error names the file. */
export async function loadConfig(
  path: string,
  { environment = process.env }: LoadOptions = {},
): Promise<CheckedConfig> {
  const file = resolve(path)
  const config = await importDefault(file)
  try {
    return checkConfig(withOverrides(config, environment), dirname(file))
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    throw new ConfigFileError(file, error.message, error)
  }
}

async function importDefault(file: string): Promise<unknown> {
  if (!existsSync(file)) throw new ConfigFileError(file, 'there is no such file. Make one with defineConfig(…)')
  let module: { readonly default?: unknown }
  try {
    module = await import(pathToFileURL(file).href)
  } catch (cause) {
    const problem = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause)
    throw new ConfigFileError(file, `it could not be loaded: ${problem}`, cause)
  }
  if (module.default === undefined) {
    throw new ConfigFileError(file, 'it has no default export. Write: export default defineConfig({ … })')
  }
  return module.default
}
