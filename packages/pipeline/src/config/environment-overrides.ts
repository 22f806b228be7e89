/**
 * Settings from the environment override those of the file:
 *
 *   TIDEMARK_PIPELINE__SERVICES__<SERVICE>__<OPTION>            an option, or ENABLED, or THREAD
 *   TIDEMARK_PIPELINE__RESOURCES__TOPICS__<OPTION>
 *   TIDEMARK_PIPELINE__RESOURCES__<STORAGES|INDEXES|QUEUES>__<NAME>__<OPTION>
 *   TIDEMARK_PIPELINE__<START_TIMEOUT|STOP_TIMEOUT>
 *
 * maxBatchSize is MAX_BATCH_SIZE, tick-queue is TICK_QUEUE. A variable that matches nothing is an error: it is
 * usually misspelt.
 */
import { ConfigError } from 'tidemark'
import { BUILT_IN_TYPES } from '../services/registry.ts'
import { type OptionTable, requireObject } from './option-table.ts'
import { resolvePath } from './resolve-paths.ts'
import {
  INDEX_OPTIONS,
  PIPELINE_OPTIONS,
  QUEUE_OPTIONS,
  SERVICE_OPTIONS,
  STORAGE_OPTIONS,
  TOPICS_OPTIONS,
} from './resource-tables.ts'
import { S3_OPTIONS } from './s3-options.ts'

export const PREFIX = 'TIDEMARK_PIPELINE__'

const GROUPS: { readonly [group: string]: OptionTable } = {
  storages: STORAGE_OPTIONS,
  indexes: INDEX_OPTIONS,
  queues: QUEUE_OPTIONS,
}

type Tree = { [name: string]: unknown }
type Environment = { readonly [name: string]: string | undefined }

/** The configuration with the environment's settings; the given object is not changed. */
export function withOverrides(config: unknown, environment: Environment): unknown {
  const variables = Object.entries(environment).filter(([name]) => name.startsWith(PREFIX))
  if (variables.length === 0) return config
  const changed: Tree = { ...requireObject('config', config) }
  for (const [variable, text = ''] of variables) override(changed, variable, text)
  return changed
}

function override(config: Tree, variable: string, text: string): void {
  const path = variable.slice(PREFIX.length).split('__')
  const [first, second, third, fourth] = path
  if (path.length === 1 && first) set(config, { variable, name: first, text, table: PIPELINE_OPTIONS })
  else if (first === 'SERVICES' && path.length === 3 && second && third) {
    overrideService(child(config, 'services'), { variable, name: third, text }, second)
  } else if (first === 'RESOURCES' && second === 'TOPICS' && path.length === 3 && third) {
    set(child(child(config, 'resources'), 'topics'), { variable, name: third, text, table: TOPICS_OPTIONS })
  } else if (first === 'RESOURCES' && path.length === 4 && second && third && fourth) {
    const group = meet(variable, second, Object.keys(GROUPS))
    const resources = child(child(config, 'resources'), group)
    const resource = child(resources, meet(variable, third, Object.keys(resources)))
    set(resource, {
      variable,
      name: fourth,
      text,
      table: Object.hasOwn(resource, 'bucket') ? S3_OPTIONS : GROUPS[group],
    })
  } else
    throw new ConfigError(
      variable,
      text,
      `${PREFIX}SERVICES__<SERVICE>__<OPTION>, or see docs/reference/configuration.md`,
    )
}

function overrideService(services: Tree, { variable, name, text }: Setting, wanted: string): void {
  const service = child(services, meet(variable, wanted, Object.keys(services)))
  const own = Object.keys(SERVICE_OPTIONS).find(option => screaming(option) === name)
  if (own) {
    set(service, { variable, name, text, table: SERVICE_OPTIONS })
    return
  }
  const type = Object.entries(BUILT_IN_TYPES).find(([type]) => type === service.type)?.[1]
  set(child(service, 'options'), { variable, name, text, table: type?.options })
}

type Setting = { readonly variable: string; readonly name: string; readonly text: string }

/** Without a table (your own service type) the option's name is derived from the variable's. */
function set(
  target: Tree,
  { variable, name, text, table }: Setting & { readonly table: OptionTable | undefined },
): void {
  const option = table ? meet(variable, name, Object.keys(table)) : camel(name)
  const rule = table?.[option]
  const value = rule?.isText ? text : parse(text)
  // Paths typed in a shell are relative to the current folder.
  target[option] = rule === undefined ? value : resolvePath(rule.check(variable, value), rule.path, process.cwd())
}

/** The name that matches the part of a variable. */
function meet(variable: string, part: string, names: readonly string[]): string {
  const found = names.find(name => screaming(name) === part)
  if (found !== undefined) return found
  throw new ConfigError(variable, part, names.map(screaming).join(', ') || 'none: the configuration has no names here')
}

function child(tree: Tree, name: string): Tree {
  tree[name] = { ...requireObject(name, tree[name] ?? {}) }
  return tree[name] as Tree
}

/** Parsed as JSON if it is JSON (numbers, true, [100, 100]), otherwise the text itself. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

export const screaming = (name: string): string =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll('-', '_')
    .toUpperCase()

const camel = (name: string): string =>
  name.toLowerCase().replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
