import { DatabaseError } from 'tidemark'
import type { Namespace } from './namespace.ts'
import { parsed } from './namespace.ts'
import { StreamGone } from './nats/errors.ts'
import { topicKey } from './nats/names.ts'
import type { TopicDocument } from './topic-document.ts'

/** A stream of a topic that still exists is gone: nothing but a person removes it. */
export function missingStream(where: string, topic: string, stream: string): DatabaseError {
  return new DatabaseError(
    `Stream ${stream} of topic '${topic}' does not exist at ${where}: somebody has deleted it, or the servers lost their ` +
      `files. Restore it from a backup (nats stream restore), or delete the topic with deleteTopic('${topic}') and ` +
      'configure it again, without its messages',
  )
}

/** Throws if a topic that still exists has lost its log: its groups are not gone, but can't go on. */
export async function assertLog(
  { client, names, location }: Namespace,
  { topic }: { readonly topic: { readonly id: number; readonly uid: number } },
): Promise<void> {
  const key = topicKey(topic)
  const isGone = (error: unknown): null => {
    if (error instanceof StreamGone) return null
    throw error
  }
  const found = parsed<TopicDocument>(await client.last(names.groupStream(key), names.topic(key)).catch(isGone))
  if (found === null || (await client.streams.info(names.logStream(key)).catch(isGone)) !== null) return
  const { name } = found.value
  const named = await client.last(names.namespaceStream(), names.topicName(name))
  const isDeleted = parsed<{ uid: number; deleting?: boolean }>(named)?.value
  if (isDeleted === undefined || isDeleted.deleting || isDeleted.uid !== topic.uid) return
  throw missingStream(location, name, names.logStream(key))
}
