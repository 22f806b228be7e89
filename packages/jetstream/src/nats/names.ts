/**
 * Names of streams and subjects. A topic's incarnation is part of both, so that nothing written for a topic that was
 * deleted can reach the one that was created after it.
 *
 *     TM-<ns>-M          tm.<ns>.m.…          the namespace: its document, topics by name, jobs
 *     TM-<ns>-L<topic>   tm.<ns>.l.<topic>.b  entries of the log; ….d.<hash> markers of messageIds
 *     TM-<ns>-G<topic>   tm.<ns>.g.<topic>.…  t: the topic; s: groups; p: retry pages; d: dead letters; c: consumers
 */
export type TopicKey = string & { readonly isTopicKey: true }

export const topicKey = ({ id, uid }: { readonly id: number; readonly uid: number }): TopicKey =>
  `${id}-${uid.toString(36)}` as TopicKey

export class Names {
  readonly #ns: string

  constructor(namespace: string) {
    this.#ns = escaped(namespace)
  }

  readonly prefix = (): string => `TM-${this.#ns}-`
  /** Whether a stream that begins like this is of this namespace: `TM-a-b-M` belongs to `a-b`, not to `a`. */
  readonly isOwn = (stream: string): boolean => /^[A-Z]/.test(stream.slice(this.prefix().length))
  readonly namespaceStream = (): string => `TM-${this.#ns}-M`
  readonly logStream = (key: TopicKey): string => `TM-${this.#ns}-L${key}`
  readonly groupStream = (key: TopicKey): string => `TM-${this.#ns}-G${key}`

  readonly inNamespace = (rest: string): string => `tm.${this.#ns}.m.${rest}`
  readonly namespaceDocument = (): string => this.inNamespace('ns')
  readonly topicName = (name: string): string => this.inNamespace(`t.${escaped(name)}`)
  readonly job = (name: string): string => this.inNamespace(`j.${escaped(name)}`)

  readonly inLog = (key: TopicKey, rest: string): string => `tm.${this.#ns}.l.${key}.${rest}`
  readonly entries = (key: TopicKey): string => this.inLog(key, 'b')
  readonly marker = (key: TopicKey, hash: string): string => this.inLog(key, `d.${hash}`)

  readonly inGroups = (key: TopicKey, rest: string): string => `tm.${this.#ns}.g.${key}.${rest}`
  readonly topic = (key: TopicKey): string => this.inGroups(key, 't')
  readonly group = (key: TopicKey, id: number | '*'): string => this.inGroups(key, `s.${id}`)
  readonly page = (key: TopicKey, id: number, page: number | '*'): string => this.inGroups(key, `p.${id}.${page}`)
  readonly letters = (key: TopicKey): string => this.inGroups(key, 'd.*.*.*')
  readonly letter = (key: TopicKey, id: number, message: number, letter: number): string =>
    this.inGroups(key, `d.${id}.${message}.${letter}`)
  readonly consumers = (key: TopicKey, id: number | '*', instance: string): string =>
    this.inGroups(key, `c.${id}.${instance}`)

  /** No stream has these subjects: requests to the steward of a group, and hints. */
  readonly steward = (key: TopicKey, id: number, process: string): string => `tm.${this.#ns}.r.${key}.${id}.${process}`
  readonly hint = (topicId: number | '*'): string => `tm.${this.#ns}.w.${topicId}`
}

/** '.' separates the tokens of a subject, and no stream may have one in its name. */
const escaped = (name: string): string => name.replaceAll('.', '=')
