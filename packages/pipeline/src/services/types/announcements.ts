import type { BindingRule } from '../../config/bindings.ts'

/** A binding to the topic on which stored files are announced: the reconciler and the indexers look at no other. */
export const announcements = <const Topic extends string>(topic: Topic, says: string) =>
  ({
    kind: 'topic-write',
    says: `Always '${topic}'; each run has its own. ${says}`,
    semantics: 'own',
    perRun: true,
    always: topic,
    unread: true,
  }) as const satisfies BindingRule
