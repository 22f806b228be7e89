import type { Story } from './history.ts'

export type Violation = {
  /** Short and stable, for counting. */
  readonly rule: Rule
  readonly what: string
  /** The offending message, whose history is printed. */
  readonly key?: string
}

export type Rule =
  | 'lost'
  | 'invented'
  | 'stored twice'
  | 'message id reused'
  | 'torn batch'
  | 'delivered after its ack'
  | 'attempt repeated'
  | 'too many attempts'
  | 'dead letters'
  | 'order'
  | 'watermark went back'
  | 'stuck'
  | 'inconsistent'
  | 'process ended'
  | 'pipeline'

export const nameOf = ({ topic, group, key }: Pick<Story, 'topic' | 'group' | 'key'>): string =>
  `${key} (${topic}, group '${group}')`
