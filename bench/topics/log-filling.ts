import type { Tidemark } from 'tidemark'
import type { RawTable } from './engines/engine.ts'
import { orders, orderTexts } from './payloads.ts'

export const PAGE = 1_000

/** Publishes `count` messages in batches of 1000. */
export async function fillTopic(tidemark: Tidemark, topic: string, count: number): Promise<void> {
  await tidemark.configureTopic(topic, { semantics: 'pub-sub' })
  const batch = orders(Math.min(PAGE, count))
  for (let left = count; left > 0; left -= batch.length) {
    await tidemark.publishBatch(topic, left < batch.length ? batch.slice(0, left) : batch)
  }
}

/** The same rows for the raw side. */
export async function fillTable(table: RawTable, count: number): Promise<void> {
  const texts = orderTexts(Math.min(PAGE, count))
  for (let left = count; left > 0; left -= texts.length) {
    await table.insertBatches([table.prepareBatch(left < texts.length ? texts.slice(0, left) : texts)])
  }
}
