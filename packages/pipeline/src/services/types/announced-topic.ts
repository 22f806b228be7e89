import { ConfigError, type Tidemark } from 'tidemark'
import type { BoundResources } from '../../resources/bound-resources.ts'

/**
 * What is stored is announced on a topic whose name is a contract between services that may be in different
 * configurations: a batch on a topic of another name would never be found by the reconciler.
 */
export function announcedTopic(service: string, resources: BoundResources, binding: string, topic: string): Tidemark {
  const bound = resources.topic(binding)
  if (bound.topic === topic) return bound.tidemark
  throw new ConfigError(`services.${service}.bindings.${binding}`, bound.topic, `topicWrite('${topic}')`)
}
