import { random52 } from '../../payload/random-bits.ts'
import type { TopicConfig } from '../../topic-config.ts'
import { mergeTopicConfig, readTopicConfig, type StoredTopicConfig } from '../../topic-config.ts'
import type { TopicRecord } from '../topic-record.ts'
import type { ConfigPreviewRecord } from '../topics.ts'
import { nowBy } from './clock.ts'
import { removable } from './facts.ts'
import { describeGroups } from './group-rows.ts'
import { boundsOf, firstIdSince } from './log-rows.ts'
import { requiredRow, rowOf } from './rows.ts'
import { findTopicRow, logTable, type TopicRow, toRecord } from './topic-rows.ts'
import { createTrack } from './track-tables.ts'
import type { Prepare, Transaction } from './transaction.ts'

export function configureTopic(tx: Transaction, name: string, given: Partial<TopicConfig>): TopicRecord {
  const row = rowOf<TopicRow>(tx.prepare(findTopicRow), name)
  const current = row && (JSON.parse(row.config) as StoredTopicConfig)
  const config = JSON.stringify(mergeTopicConfig(name, current, given, row !== undefined && row.next_id > 1))
  if (row === undefined) {
    const id = createTopic(sql => tx.prepare(sql), name, config)
    if ((JSON.parse(config) as StoredTopicConfig).tracking === 'reference') createTrack(tx, id)
  } else if (config !== row.config) {
    // Nothing was ever published, so nobody loses anything by removing groups of the other kind.
    const { semantics } = JSON.parse(config) as StoredTopicConfig
    if (semantics !== current?.semantics) {
      tx.prepare('delete from tidemark_subscription where topic_id = ?').run(row.id)
    }
    tx.prepare('update tidemark_topic set config = ?, config_version = config_version + 1 where id = ?').run(
      config,
      row.id,
    )
  }
  return toRecord(requiredRow<TopicRow>(tx.prepare(findTopicRow), name))
}

/** What `configureTopic` would do. Call it in a read transaction. */
export function previewConfig(tx: Transaction, topic: TopicRecord, given: Partial<TopicConfig>): ConfigPreviewRecord {
  const row = requiredRow<TopicRow>(tx.prepare(findTopicRow), topic.name)
  const stored = mergeTopicConfig(topic.name, JSON.parse(row.config) as StoredTopicConfig, given, row.next_id > 1)
  const config = readTopicConfig(stored)
  const groups = describeGroups(tx, { topicId: topic.id, most: 1 }, tx.now()).map(({ description }) => description)
  const bounds = boundsOf(tx, topic)
  const { maxRetentionMs } = config
  const tooOld = maxRetentionMs === null ? 0 : firstIdSince(tx, topic, bounds, tx.ago(maxRetentionMs)) - bounds.first_id
  return { config, removable: Math.max(tooOld, removable(tx, { ...topic, config }, groups)) }
}

/**
 * The topic as seen by the caller's open transaction, which holds the only write lock. With `create` it is created in
 * that transaction, and is gone if that is rolled back.
 */
export function topicIn(prepare: Prepare, name: string, create: boolean): TopicRecord | undefined {
  const row = rowOf<TopicRow>(prepare(findTopicRow), name)
  if (row !== undefined || !create) return row && toRecord(row)
  createTopic(prepare, name, JSON.stringify(mergeTopicConfig(name, undefined, {}, false)))
  return toRecord(requiredRow<TopicRow>(prepare(findTopicRow), name))
}

/** Creates the topic without bitmaps. Returns its id. */
function createTopic(prepare: Prepare, name: string, config: string): number {
  const uid = random52()
  const { id } = requiredRow<{ id: number }>(
    prepare('insert into tidemark_topic (name, uid, config, created_at) values (?, ?, ?, ?) returning id'),
    name,
    uid,
    config,
    nowBy(prepare),
  )
  prepare(createLogText(id)).run()
  return id
}

/**
 * JSON payloads are stored as text, others as blobs: people can read the table, and text becomes a string at no cost.
 */
export const createLogText = (topicId: number): string => `
    create table ${logTable(topicId)} (
      id integer primary key,
      created_at integer not null,
      salt integer not null default (random() & 0xfffffffffffff), -- 52 random bits of the publish: ids are drawn again after a rollback or a restore
      key text,
      type text,
      headers text,
      message_id text,
      payload not null
    )`
