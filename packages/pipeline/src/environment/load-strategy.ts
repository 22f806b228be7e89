import { ConfigError } from 'tidemark'
import { StrategyError } from '../config/errors.ts'
import { importModule, isModulePath } from '../config/import-module.ts'
import type { Packing } from '../databases/packing.ts'
import { singleBlob } from './strategies/single-blob.ts'
import { type EnvironmentStrategy, STRATEGY_VERBS } from './strategy.ts'

/** Options of a strategy. */
export type LoadStrategyOptions = Packing & { readonly [option: string]: unknown }

export const SINGLE_BLOB = 'single-blob'

/** For error messages. */
export const STRATEGIES = `\`'${SINGLE_BLOB}'\`, or the path of a module, such as \`'./my-strategy.ts'\``

export const isStrategy = (value: unknown): value is string =>
  typeof value === 'string' && (value === SINGLE_BLOB || isModulePath(value))

/**
 * Loads a strategy by name, or from a module whose default export is a strategy or a function that creates one from
 * the options.
 *
 * @example
 * const strategy = await loadEnvironmentStrategy('./my-strategy.ts', { compression: 'zstd', level: 3 }, process.cwd())
 */
export async function loadEnvironmentStrategy(
  strategy: string,
  options: LoadStrategyOptions,
  folder: string,
): Promise<EnvironmentStrategy> {
  if (!isStrategy(strategy)) throw new ConfigError('strategy', strategy, STRATEGIES)
  if (strategy === SINGLE_BLOB) return singleBlob(options)
  const { file, exported } = await importModule(strategy, folder, (...problem) => new StrategyError(...problem))
  const made: unknown = typeof exported === 'function' ? await exported(options) : exported
  if (isComplete(made)) return withSettings(made, options)
  throw new StrategyError(
    file,
    `its default export is not a strategy with name, ${STRATEGY_VERBS.join(', ')}, nor a function that returns one. ` +
      'Write: export default defineEnvironmentStrategy({ … })',
  )
}

/** Options of the configuration without the compression, which is detected when a tick is read. */
function withSettings(
  strategy: EnvironmentStrategy,
  { compression: _, level: __, ...settings }: LoadStrategyOptions,
): EnvironmentStrategy {
  if (strategy.settings !== undefined || Object.keys(settings).length === 0) return strategy
  const { readPacked } = strategy
  return {
    name: strategy.name,
    settings,
    prepare: (...call) => strategy.prepare(...call),
    write: (...call) => strategy.write(...call),
    read: (...call) => strategy.read(...call),
    range: (...call) => strategy.range(...call),
    ...(readPacked && { readPacked: (...call) => readPacked.call(strategy, ...call) }),
  }
}

function isComplete(value: unknown): value is EnvironmentStrategy {
  if (typeof value !== 'object' || value === null) return false
  const hasVerbs = STRATEGY_VERBS.every(verb => typeof Reflect.get(value, verb) === 'function')
  return hasVerbs && typeof Reflect.get(value, 'name') === 'string'
}
