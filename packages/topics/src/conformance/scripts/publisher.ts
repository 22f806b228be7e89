/**
 * Publishes in an endless loop in every way there is: one by one, concurrently, in batches, with its own messageId and
 * without. A message with a messageId whose publish was never answered is published again after the restart.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { open } from '../../index.ts'
import { Journal, type PublisherEntry, readJournal } from '../crash/journal.ts'
import { SeededRandom } from '../seeded-random.ts'

/** Maximum number of waiting messages per group, so that the end is quickly drained. */
const LONGEST_BACKLOG = 150
const BAD_ONE_IN = 60

export type PublisherArguments = { readonly url: string; readonly topic: string; readonly journal: string }

const { url, topic, journal: path } = JSON.parse(process.argv[2] ?? '') as PublisherArguments
const journal = new Journal<PublisherEntry>(path)
const random = new SeededRandom()
let stopping = false
process.on('message', () => {
  stopping = true
})

const tm = await open(url)
await Promise.all(unanswered().map(({ key, messageId }) => publish(key, messageId)))
while (!stopping) {
  await backlogToShrink()
  const count = 1 + Math.floor(random.next() * 10)
  if (random.next() < 0.3) await publishBatch(Array.from({ length: count }, newKey))
  else await Promise.all(Array.from({ length: count }, () => publishNew()))
}
await tm.close()
process.disconnect()

function unanswered(): { key: string; messageId: string }[] {
  const open = new Map<string, string>()
  for (const entry of readJournal<PublisherEntry>(path)) {
    if (entry.kind === 'acknowledged') open.delete(entry.key)
    else if (entry.messageId !== undefined) open.set(entry.key, entry.messageId)
  }
  return [...open].map(([key, messageId]) => ({ key, messageId }))
}

async function publishNew(): Promise<void> {
  const key = newKey()
  const messageId = random.next() < 0.5 ? randomUUID() : undefined
  journal.write({ kind: 'intended', key, ...(messageId !== undefined && { messageId }) })
  await publish(key, messageId)
}

async function publish(key: string, messageId?: string): Promise<void> {
  const { id } = await tm.publish(topic, { key }, messageId === undefined ? {} : { messageId })
  journal.write({ kind: 'acknowledged', key, id })
}

async function publishBatch(keys: string[]): Promise<void> {
  const batch = randomUUID()
  for (const key of keys) journal.write({ kind: 'intended', key, batch })
  const refs = await tm.publishBatch(
    topic,
    keys.map(key => ({ key })),
  )
  for (const [index, { id }] of refs.entries()) journal.write({ kind: 'acknowledged', key: keys[index] ?? '', id })
}

function newKey(): string {
  return `${random.next() * BAD_ONE_IN < 1 ? 'bad' : 'good'}-${randomUUID()}`
}

async function backlogToShrink(): Promise<void> {
  for (;;) {
    const { groups } = await tm.admin.describeTopic(topic)
    if (stopping || groups.every(group => group.backlog < LONGEST_BACKLOG)) return
    await delay(5)
  }
}
