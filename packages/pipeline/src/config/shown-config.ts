import { isS3 } from '../storage/s3/options.ts'
import type { Binding } from './bindings.ts'
import type { OptionRule, OptionTable } from './option-table.ts'
import { INDEX_OPTIONS, TOPICS_OPTIONS } from './resource-tables.ts'
import { S3_OPTIONS } from './s3-options.ts'
import type { WholeConfig } from './whole-config.ts'

const HIDDEN = '(hidden)'
/** Options of a user's module, which no table marks as secret. */
const SECRET_NAME = /pass(word|phrase)?$|secret|token|api-?key|credential/i

/**
 * Configuration as it is in effect, for people: with bindings as they are written and without passwords.
 *
 * @example
 * console.log(JSON.stringify(shownConfig(await readConfig('tidemark.config.ts')), null, 2))
 */
export function shownConfig({ config, types }: WholeConfig): object {
  const { resources, services, folder, ...options } = config
  const { topics, storages, indexes, queues } = resources
  return {
    ...options,
    resources: {
      ...(topics && { topics: masked(topics, TOPICS_OPTIONS) }),
      storages: Object.fromEntries(
        Object.entries(storages).map(([name, each]) => [name, isS3(each) ? masked(each, S3_OPTIONS) : each]),
      ),
      indexes: Object.fromEntries(Object.entries(indexes).map(([name, each]) => [name, masked(each, INDEX_OPTIONS)])),
      queues,
    },
    services: Object.fromEntries(
      services.map(({ name, type, enabled, thread, bindings, options: given }) => [
        name,
        {
          ...{ type, enabled, thread },
          bindings: Object.fromEntries(Object.entries(bindings).map(([as, to]) => [as, writtenAs(to)])),
          options: masked(given, types.get(name)?.options ?? {}),
        },
      ]),
    ),
  }
}

function masked(options: object, table: OptionTable): object {
  const entries = Object.entries(options).map(([name, value]) => [name, maskedValue(name, value, table[name])])
  return Object.fromEntries(entries)
}

function maskedValue(name: string, value: unknown, rule: OptionRule | undefined): unknown {
  if (rule?.secret) return rule.path === 'address' ? withoutPassword(String(value)) : HIDDEN
  if (rule === undefined && SECRET_NAME.test(name)) return HIDDEN
  if (Array.isArray(value)) return value.map(each => maskedValue(name, each, undefined))
  if (typeof value === 'object' && value !== null) return masked(value, {})
  return typeof value === 'string' ? withoutPassword(value) : value
}

/**
 * `postgres://user:password@host/…?password=…` without either. The last @ before the host ends them, whatever they
 * contain.
 */
const withoutPassword = (text: string): string =>
  text
    .replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i, '$1…@')
    .replaceAll(/([?&][^=&]*(?:password|secret|token)[^=&]*=)[^&]*/gi, '$1…')

function writtenAs(binding: Binding): string {
  const { kind, name } = binding
  switch (kind) {
    case 'topic-read':
      return `topicRead('${name}', { consumerGroup: '${binding.consumerGroup}' })`
    case 'topic-write':
      return `topicWrite('${name}')`
    case 'storage-read':
      return `storageRead('${name}')`
    case 'storage-write':
      return `storageWrite('${name}')`
    default:
      return `${kind}('${name}')`
  }
}
