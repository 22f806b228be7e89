import { type BackfillOptions, readBackfill } from '../backfill/backfill-plan.ts'
import type { Engine } from '../consume/engine.ts'
import { type From, parseFrom } from '../consume/start-position.ts'
import { BackfillError } from '../errors.ts'
import { Options } from '../options.ts'
import type { BackfillRecord } from '../stores/backfills.ts'
import { type BackfillProgress, toProgress } from './backfill-progress.ts'
import { findGroup, type GroupRecords } from './scope.ts'

/** Makes older messages the group's, from a position (the beginning) to the present. One at a time for a group. */
export async function start(
  engine: Engine,
  topicName: string,
  group: string,
  given?: BackfillOptions & { from?: From },
): Promise<BackfillProgress> {
  const options = new Options('startBackfill', given)
  const from = parseFrom('startBackfill.from', options.value('from') ?? 'beginning')
  const { plan } = readBackfill(options)
  options.done()
  const { topic, subscription } = await findReferenceGroup(engine, topicName, group)
  const record = await engine.store.backfills.start(topic, subscription, from, plan)
  return await run(engine, { topic, subscription }, record)
}

/** The group's last backfill; undefined where it never had one. */
export async function progress(engine: Engine, topic: string, group: string): Promise<BackfillProgress | undefined> {
  const { subscription } = await findGroup(engine, topic, group)
  const record = await engine.store.backfills.find(subscription)
  return record && toProgress(record)
}

/** What it has made the group's so far stays so, and is delivered. */
export async function cancel(engine: Engine, topicName: string, group: string): Promise<BackfillProgress> {
  const { topic, subscription } = await findReferenceGroup(engine, topicName, group)
  return toProgress(await engine.store.backfills.setStatus(topic, subscription, 'CANCELLED'))
}

/** Goes on at the checkpoint. */
export async function resume(engine: Engine, topicName: string, group: string): Promise<BackfillProgress> {
  const { topic, subscription } = await findReferenceGroup(engine, topicName, group)
  const record = await engine.store.backfills.setStatus(topic, subscription, 'RUNNING')
  return await run(engine, { topic, subscription }, record)
}

/** In this process: a small one to its end, a large one in the background. */
async function run(
  engine: Engine,
  { topic, subscription }: GroupRecords,
  record: BackfillRecord,
): Promise<BackfillProgress> {
  await engine.backfills.start(topic, subscription)
  return toProgress((await engine.store.backfills.find(subscription)) ?? record)
}

async function findReferenceGroup(engine: Engine, topicName: string, group: string): Promise<GroupRecords> {
  const records = await findGroup(engine, topicName, group)
  if (records.topic.config.tracking === 'reference') return records
  throw new BackfillError(
    topicName,
    group,
    `Topic '${topicName}' is tracked by offset, where a group needs no backfill: ` +
      `resetGroup('${topicName}', '${group}', …) places it at once`,
  )
}
