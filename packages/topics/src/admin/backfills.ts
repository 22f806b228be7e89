import { type BackfillOptions, readBackfill } from '../backfill/backfill-plan.ts'
import { type From, parseFrom } from '../consume/start-position.ts'
import { BackfillError } from '../errors.ts'
import { Options } from '../options/options.ts'
import type { Runtime } from '../runtime.ts'
import type { BackfillRecord } from '../stores/backfills.ts'
import { type BackfillProgress, toProgress } from './backfill-progress.ts'
import { findGroup, type GroupRecords } from './find-records.ts'

/**
 * Delivers older messages to the group, from a position (default: the beginning) to the present. One backfill per group
 * at a time.
 */
export async function start(
  runtime: Runtime,
  topicName: string,
  group: string,
  given?: BackfillOptions & { from?: From },
): Promise<BackfillProgress> {
  const options = new Options('startBackfill', given)
  const from = parseFrom('startBackfill.from', options.value('from') ?? 'beginning')
  const { plan } = readBackfill(options)
  options.done()
  const { topic, subscription } = await findReferenceGroup(runtime, topicName, group)
  const record = await runtime.store.backfills.start(topic, subscription, from, plan)
  return await run(runtime, { topic, subscription }, record)
}

/** The group's last backfill; undefined if it never had one. */
export async function progress(runtime: Runtime, topic: string, group: string): Promise<BackfillProgress | undefined> {
  const { subscription } = await findGroup(runtime, topic, group)
  const record = await runtime.store.backfills.find(subscription)
  return record && toProgress(record)
}

/** Messages marked for the group so far stay marked, and are delivered. */
export async function cancel(runtime: Runtime, topicName: string, group: string): Promise<BackfillProgress> {
  const { topic, subscription } = await findReferenceGroup(runtime, topicName, group)
  return toProgress(await runtime.store.backfills.setStatus(topic, subscription, 'CANCELLED'))
}

/** Continues at the checkpoint. */
export async function resume(runtime: Runtime, topicName: string, group: string): Promise<BackfillProgress> {
  const { topic, subscription } = await findReferenceGroup(runtime, topicName, group)
  const record = await runtime.store.backfills.setStatus(topic, subscription, 'RUNNING')
  return await run(runtime, { topic, subscription }, record)
}

/** Runs in this process: waits for a small backfill, and runs a large one in the background. */
async function run(
  runtime: Runtime,
  { topic, subscription }: GroupRecords,
  record: BackfillRecord,
): Promise<BackfillProgress> {
  await runtime.backfills.start(topic, subscription)
  return toProgress((await runtime.store.backfills.find(subscription)) ?? record)
}

async function findReferenceGroup(runtime: Runtime, topicName: string, group: string): Promise<GroupRecords> {
  const records = await findGroup(runtime, topicName, group)
  if (records.topic.config.tracking === 'reference') return records
  throw new BackfillError(
    topicName,
    group,
    `Topic '${topicName}' is tracked by offset, where a group needs no backfill: ` +
      `resetGroup('${topicName}', '${group}', …) places it at once`,
  )
}
