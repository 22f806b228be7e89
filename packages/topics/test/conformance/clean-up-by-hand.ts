import type { TestDatabase } from './stores.ts'

/** What `partitionRows` has to be for it. */
export const PARTITION_ROWS = 10

/** As if clean-up had removed the messages below id 10 of the database's first topic. */
export async function removeFirstMessages(database: TestDatabase): Promise<void> {
  await database.execute({
    sqlite: `delete from tidemark_log_1 where id < ${PARTITION_ROWS}`,
    postgres: 'drop table tidemark.log_1_p0',
  })
  await database.execute({
    sqlite: `update tidemark_topic set first_id = ${PARTITION_ROWS}`,
    postgres: 'select 1',
  })
}
