import type { TopicRecord } from '../topic-record.ts'
import { logTable } from './topic-rows.ts'

/** The message with this id, if it has that salt. */
export const saltedText = ({ id }: TopicRecord): string =>
  `select id from ${logTable(id)} where id = ? and salt = ? and message_id is null`

/**
 * The id of a message whose messageId the caller gave. An entry no longer counts once another message has its id, as
 * after a manual restore; it still counts if its message was cleaned up.
 */
export const rememberedText = ({ id }: TopicRecord): string => `
  select d.id from tidemark_dedupe d
  where d.topic_id = ? and d.message_id = ? and d.created_at >= ?
    and not exists (select 1 from ${logTable(id)} l where l.id = d.id and l.message_id is not d.message_id)`
