import { ConfigError } from 'tidemark'
import { makeRunId } from '../run-id.ts'
import { topicOfRun } from '../services/notification-topics.ts'
import { BUILT_IN_TYPES, builtInType, typeNames } from '../services/registry.ts'
import type { ServiceType } from '../services/service-type.ts'
import { type Binding, type BindingRule, WRITTEN_AS } from './bindings.ts'
import type { CheckedConfig, CheckedResources, CheckedService } from './config.ts'
import { isModulePath } from './import-module.ts'
import { checkOptions, type OptionTable, requireObject, unknownOption } from './option-table.ts'
import {
  INDEX_OPTIONS,
  PIPELINE_OPTIONS,
  QUEUE_OPTIONS,
  SERVICE_OPTIONS,
  STORAGE_OPTIONS,
  TOPICS_OPTIONS,
} from './resource-tables.ts'
import { S3_OPTIONS } from './s3-options.ts'
import { isTopicName } from './topic-settings.ts'

/**
 * Names are parts of paths, variables and log lines. A name that is a number would be moved to the front of its object.
 */
const NAME = /^[a-z][a-z0-9-]{0,63}$/i
/** For topics and groups alike. */
const NAME_OF_TOPIC = "1 to 128 letters, digits, '.', '_' or '-', the first a letter or digit"
/** All run ids have the same length. */
const ANY_RUN = makeRunId(0)
const PARTS = ['resources', 'services', ...Object.keys(PIPELINE_OPTIONS)]
const RESOURCES = ['topics', 'storages', 'indexes', 'queues']

/**
 * Checks a configuration and fills in defaults. Throws a `ConfigError` that names the invalid option or binding.
 *
 * @example
 * const config = checkConfig(defaultConfig({ dataFolder: './data' }), process.cwd())
 */
export function checkConfig(given: unknown, folder: string): CheckedConfig {
  const { resources: givenResources = {}, services: givenServices, ...rest } = requireObject('config', given)
  for (const name of Object.keys(rest)) {
    if (!Object.hasOwn(PIPELINE_OPTIONS, name)) throw unknownOption(name, rest[name], PARTS)
  }
  const resources = checkResources(givenResources)
  const services = Object.entries(named('services', givenServices)).map(([name, service]) =>
    checkService(name, service, resources),
  )
  return { ...checkOptions('config', rest, PIPELINE_OPTIONS), resources, services, folder }
}

/** Checks options and bindings against the type's tables; for a module's type, once it is loaded. */
export function checkAgainstType({ name, options, bindings, thread }: CheckedService, type: ServiceType) {
  const path = `services.${name}`
  for (const binding of Object.keys(bindings)) {
    if (!Object.hasOwn(type.bindings, binding)) {
      throw unknownOption(`${path}.bindings.${binding}`, bindings[binding], Object.keys(type.bindings))
    }
  }
  for (const [binding, rule] of Object.entries(type.bindings)) {
    checkKind(`${path}.bindings.${binding}`, bindings[binding], rule)
  }
  const source = Object.entries(type.bindings).find(([binding, { kind }]) => kind === 'queue-in' && bindings[binding])
  if (thread && source) {
    throw new ConfigError(
      `${path}.thread`,
      true,
      `false: it takes from a queue (${source[0]}), and a thread that crashes would lose the items it took`,
    )
  }
  const checked = checkOptions(`${path}.options`, options, type.options)
  type.check?.({ path, options: checked, bindings })
  return checked
}

function checkResources(given: unknown): CheckedResources {
  const resources = requireObject('resources', given)
  for (const name of Object.keys(resources)) {
    if (!RESOURCES.includes(name)) throw unknownOption(`resources.${name}`, resources[name], RESOURCES)
  }
  const { topics, storages = {}, indexes = {}, queues = {} } = resources
  return {
    topics: topics === undefined ? null : checkOptions('resources.topics', topics, TOPICS_OPTIONS),
    storages: checkStorages('resources.storages', storages),
    indexes: each('resources.indexes', indexes, INDEX_OPTIONS),
    queues: each('resources.queues', queues, QUEUE_OPTIONS),
  }
}

function checkStorages(path: string, given: unknown): CheckedResources['storages'] {
  const entries = Object.entries(named(path, given)).map(([name, options]) => {
    const at = `${path}.${name}`
    const isBucket = Object.hasOwn(requireObject(at, options), 'bucket')
    return [
      name,
      isBucket ? checkOptions(at, options, S3_OPTIONS) : checkOptions(at, options, STORAGE_OPTIONS),
    ] as const
  })
  return Object.fromEntries(entries)
}

function each<Table extends OptionTable>(path: string, given: unknown, table: Table) {
  const entries = Object.entries(named(path, given))
  return Object.fromEntries(entries.map(([name, options]) => [name, checkOptions(`${path}.${name}`, options, table)]))
}

function named(path: string, given: unknown): { readonly [name: string]: unknown } {
  const object = requireObject(path, given)
  for (const name of Object.keys(object)) {
    if (!NAME.test(name))
      throw new ConfigError(`${path}: a name`, name, 'a letter, then up to 63 letters, digits and -')
  }
  return object
}

function checkService(name: string, given: unknown, resources: CheckedResources): CheckedService {
  const path = `services.${name}`
  const { type, bindings = {}, options = {}, ...rest } = requireObject(path, given)
  for (const key of Object.keys(rest)) {
    if (Object.hasOwn(SERVICE_OPTIONS, key)) continue
    throw unknownOption(`${path}.${key}`, rest[key], ['type', 'bindings', 'options', ...Object.keys(SERVICE_OPTIONS)])
  }
  if (typeof type !== 'string' || !(Object.hasOwn(BUILT_IN_TYPES, type) || isModulePath(type))) {
    throw new ConfigError(`${path}.type`, type, `${typeNames()}, or the path of a module, such as './my-indexer.ts'`)
  }
  const service: CheckedService = {
    ...checkOptions(path, rest, SERVICE_OPTIONS),
    name,
    type,
    bindings: checkBindings(`${path}.bindings`, bindings, resources),
    options: requireObject(`${path}.options`, options),
  }
  checkThread(service, resources)
  if (isModulePath(type)) return service
  return { ...service, options: checkAgainstType(service, builtInType(type)) }
}

/** A thread gets a copy of the configuration, and functions can't be copied. */
function checkThread({ name, thread, bindings }: CheckedService, { storages }: CheckedResources): void {
  if (!thread) return
  for (const [as, binding] of Object.entries(bindings)) {
    const storage = storages[binding.name]
    if (!binding.kind.startsWith('storage-') || storage === undefined || !('credentials' in storage)) continue
    const path = `services.${name}.thread`
    throw new ConfigError(
      path,
      true,
      `false: its ${as} '${binding.name}' takes credentials from a function, which a thread can't call`,
    )
  }
}

function checkBindings(
  path: string,
  given: unknown,
  resources: CheckedResources,
): { readonly [name: string]: Binding } {
  const bindings = Object.entries(requireObject(path, given)).filter(([, binding]) => binding !== undefined)
  for (const [name, binding] of bindings) checkTarget(`${path}.${name}`, binding, resources)
  return Object.fromEntries(bindings) as { readonly [name: string]: Binding }
}

/** Checks that the resource it names exists. */
function checkTarget(path: string, given: unknown, resources: CheckedResources): void {
  const { kind, name, consumerGroup } = requireObject(path, given)
  const written = [...new Set(Object.values(WRITTEN_AS))].join(', ')
  if (typeof kind !== 'string' || typeof name !== 'string') throw new ConfigError(path, given, written)
  if (kind === 'topic-read' || kind === 'topic-write') {
    if (resources.topics === null)
      throw new ConfigError('resources.topics', undefined, `a database of topics: ${path} needs it`)
    if (!isTopicName(name)) throw new ConfigError(path, name, `the name of a topic: ${NAME_OF_TOPIC}`)
    if (kind === 'topic-read' && (typeof consumerGroup !== 'string' || !isTopicName(consumerGroup))) {
      throw new ConfigError(`${path}.consumerGroup`, consumerGroup, `the name of a consumer group: ${NAME_OF_TOPIC}`)
    }
    return
  }
  const there = targetsOf(kind, resources)
  if (there === undefined) throw new ConfigError(path, given, written)
  if (!Object.hasOwn(there, name))
    throw new ConfigError(path, name, Object.keys(there).join(' or ') || 'no binding: there is no such resource')
}

function targetsOf(kind: string, { storages, indexes, queues }: CheckedResources): object | undefined {
  if (kind === 'storage-read' || kind === 'storage-write') return storages
  if (kind === 'index') return indexes
  return kind === 'queue' ? queues : undefined
}

/** As written in the file: storageWrite('ticks'). */
const writtenLike = ({ kind, name }: Binding): string =>
  `${(kind === 'queue' ? kind : WRITTEN_AS[kind]).replace(/\(.*$/, '')}('${name}')`

function checkKind(path: string, binding: Binding | undefined, rule: BindingRule): void {
  if (binding === undefined && rule.optional) return
  const wanted = rule.kind === 'queue-in' || rule.kind === 'queue-out' ? 'queue' : rule.kind
  if (binding?.kind !== wanted) throw new ConfigError(path, binding && writtenLike(binding), WRITTEN_AS[rule.kind])
  if (rule.always !== undefined && binding.name !== rule.always) {
    throw new ConfigError(
      path,
      binding.name,
      `topicWrite('${rule.always}'): indexers read announcements only from there`,
    )
  }
  if (rule.perRun && !isTopicName(topicOfRun(binding.name, ANY_RUN))) {
    throw new ConfigError(path, binding.name, 'a shorter name: each run has its own topic, <name>.<run id>')
  }
}
