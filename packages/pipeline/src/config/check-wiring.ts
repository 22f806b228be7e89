/**
 * Mistakes that no option shows by itself: how the services of a configuration are connected. Each of them would
 * otherwise fail silently: a service that waits for ever, a queue that fills up, half of the batches.
 */

import type { Binding, BindingRule } from './bindings.ts'
import type { CheckedService } from './config.ts'
import { didYouMean } from './did-you-mean.ts'
import { screaming } from './environment-overrides.ts'
import { ANNOUNCEMENT_SETTINGS } from './topic-settings.ts'
import type { WholeConfig } from './whole-config.ts'

/** Parts of the pipeline that are outside its configuration. */
export type Wiring = {
  /** Queues that are filled from outside the pipeline, such as ticks sent over HTTP. */
  readonly fedQueues?: readonly string[]
}

type Use = {
  readonly service: CheckedService
  readonly binding: Binding
  readonly rule: BindingRule
}

/**
 * Lists everything that keeps the services from working together, one sentence each.
 *
 * @example
 * for (const problem of wiringProblems(await readConfig('tidemark.config.ts'))) console.error(problem)
 */
export function wiringProblems(whole: WholeConfig, { fedQueues = [] }: Wiring = {}): string[] {
  const uses = usesOf(whole)
  if (whole.config.services.length === 0) return ['There is no service to run. Add one under services']
  return [
    ...sharedVariables(whole),
    ...topicProblems(whole, uses),
    ...settingProblems(whole, uses),
    ...queueProblems(whole, uses, fedQueues),
    ...unusedProblems(whole, uses),
    ...storageProblems(uses),
    ...groupProblems(uses),
  ]
}

function usesOf({ config: { services }, types }: WholeConfig): Use[] {
  return services.flatMap(service =>
    Object.entries(service.bindings).flatMap(([name, binding]) => {
      const rule = types.get(service.name)?.bindings[name]
      return rule === undefined ? [] : [{ service, binding, rule }]
    }),
  )
}

/** Environment variables could not distinguish them. */
function sharedVariables({ config: { services } }: WholeConfig): string[] {
  const byVariable = Map.groupBy(services, ({ name }) => screaming(name))
  return [...byVariable.values()]
    .filter(alike => alike.length > 1)
    .map(alike => `Services ${listed(namesOf(alike))} have the same name in environment variables. Rename one`)
}

function topicProblems({ config: { resources } }: WholeConfig, uses: readonly Use[]): string[] {
  const external = resources.topics?.external ?? []
  const bound = uses.filter(({ binding }) => binding.kind === 'topic-read' || binding.kind === 'topic-write')
  const byTopic = Map.groupBy(bound, ({ binding }) => binding.name)
  return [...byTopic].flatMap(([topic, users]) => {
    const readers = users.filter(({ binding }) => binding.kind === 'topic-read')
    const writers = users.filter(({ binding }) => binding.kind === 'topic-write')
    if (external.includes(topic)) return []
    const unless = `If another program does, add it to resources.topics.external: ['${topic}']`
    if (writers.length === 0) {
      const others = [...byTopic.keys()].filter(name => name !== topic)
      return [
        `Topic '${topic}' is read by ${listed(namesOf(readers))}, but no service writes to it.${didYouMean(topic, others)} ${unless}`,
      ]
    }
    if (readers.length > 0 || writers.every(({ rule }) => rule.unread)) return []
    return [`Topic '${topic}' is written by ${listed(namesOf(writers))}, but no service reads it. ${unless}`]
  })
}

function settingProblems({ config: { resources } }: WholeConfig, uses: readonly Use[]): string[] {
  return Object.entries(resources.topics?.settings ?? {}).flatMap(([topic, settings]) => {
    const path = `resources.topics.settings.${topic}`
    const users = uses.filter(({ binding }) => binding.kind.startsWith('topic-') && binding.name === topic)
    if (users.length === 0) {
      const topics = uses.filter(({ binding }) => binding.kind.startsWith('topic-')).map(({ binding }) => binding.name)
      return [`${path}: no service is bound to this topic.${didYouMean(topic, topics)}`]
    }
    const isAnnounced = users.some(({ rule }) => rule.perRun)
    if (!isAnnounced && !users.some(({ rule }) => rule.semantics === 'own')) return []
    const allowed: readonly string[] = isAnnounced ? ANNOUNCEMENT_SETTINGS : []
    const refused = Object.keys(settings).filter(name => !allowed.includes(name))
    const why = isAnnounced
      ? `Of the settings of announcement topics, only ${listed(allowed)} can be changed`
      : 'The service that owns this topic configures it'
    return refused.map(name => `${path}.${name} can't be set. ${why}`)
  })
}

/** A queue is in the memory of one process, so both ends must run here. */
function queueProblems({ config }: WholeConfig, uses: readonly Use[], fed: readonly string[]): string[] {
  return Object.entries(config.resources.queues).flatMap(([queue, { external }]) => {
    const users = uses.filter(({ binding }) => binding.kind === 'queue' && binding.name === queue)
    if (external || users.length === 0) return []
    const runs = ({ service }: Use): boolean => service.enabled
    const putters = users.filter(({ rule }) => rule.kind === 'queue-out')
    const takers = users.filter(({ rule }) => rule.kind === 'queue-in')
    const isFed = fed.includes(queue)
    const waiting = takers.filter(taker => !runs(taker))
    if ((isFed || putters.some(runs)) && !takers.some(runs)) {
      const who =
        waiting.length > 0 ? `${listed(namesOf(waiting))} reads from it, but does not run here` : 'no service would'
      const filler = putters.some(runs) ? listed(namesOf(putters.filter(runs))) : 'what comes over HTTP'
      return [
        `Queue '${queue}' is filled by ${filler}, but nothing reads from it: ${who}. It would fill up and block its source`,
      ]
    }
    if (putters.length > 0 || isFed) return []
    return [
      `Queue '${queue}' is emptied by ${listed(namesOf(takers))}, but nothing fills it. If ticks come over HTTP ` +
        `('tidemark start --ingest'), set resources.queues.${queue}.external: true`,
    ]
  })
}

function unusedProblems({ config: { resources } }: WholeConfig, uses: readonly Use[]): string[] {
  const unused = (kind: string, names: readonly string[], isKind: (binding: Binding) => boolean): string[] => {
    const used = new Set(uses.filter(({ binding }) => isKind(binding)).map(({ binding }) => binding.name))
    return names
      .filter(name => !used.has(name))
      .map(name => `resources.${kind}.${name} is not used by any service. Bind a service to it, or remove it`)
  }
  return [
    ...unused('storages', Object.keys(resources.storages), ({ kind }) => kind.startsWith('storage-')),
    ...unused('indexes', Object.keys(resources.indexes), ({ kind }) => kind === 'index'),
    ...unused('queues', Object.keys(resources.queues), ({ kind }) => kind === 'queue'),
  ]
}

/** Announced batches in another storage are never found. */
function storageProblems(uses: readonly Use[]): string[] {
  const ofAnnouncers = new Set(uses.filter(({ rule }) => rule.always !== undefined).map(({ service }) => service.name))
  const isOf = (kind: Binding['kind']) => (use: Use) => use.binding.kind === kind
  const written = new Set(
    uses
      .filter(isOf('storage-write'))
      .filter(({ service }) => ofAnnouncers.has(service.name))
      .map(({ binding }) => binding.name),
  )
  if (written.size === 0) return []
  const listeners = new Set(
    uses.filter(({ rule, binding }) => rule.perRun && binding.kind === 'topic-read').map(({ service }) => service.name),
  )
  return uses
    .filter(isOf('storage-read'))
    .filter(({ service, binding }) => listeners.has(service.name) && !written.has(binding.name))
    .map(
      ({ service, binding }) =>
        `${service.name} reads announced files from storage '${binding.name}', and they are written to ` +
        `${listed([...written].map(name => `'${name}'`))}`,
    )
}

/** Members of a group share its messages: two services that process them differently would get half each. */
function groupProblems(uses: readonly Use[]): string[] {
  const readers = uses.filter(({ binding }) => binding.kind === 'topic-read')
  const byGroup = Map.groupBy(readers, ({ binding }) =>
    binding.kind === 'topic-read' ? `'${binding.consumerGroup}' of topic '${binding.name}'` : '',
  )
  return [...byGroup].flatMap(([group, members]) => {
    const types = new Set(members.map(({ service: { type, options } }) => `${type} ${options.indexer ?? ''}`))
    if (types.size <= 1) return []
    return [
      `${listed(namesOf(members))} share the consumer group ${group}, so each would receive only some of its messages. ` +
        'Give each its own group',
    ]
  })
}

const namesOf = (users: readonly (Use | CheckedService)[]): string[] => [
  ...new Set(users.map(user => ('service' in user ? user.service.name : user.name))),
]

function listed(names: readonly string[]): string {
  return names.length < 2 ? (names[0] ?? 'nobody') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
}
