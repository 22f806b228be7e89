import pg from 'pg'
import { byteaArray } from '../../topics/engines/bytea-array.ts'
import { connect } from '../../topics/engines/postgres-client.ts'
import type { Order } from '../../topics/payloads.ts'
import { type Contender, handleOrder, PAGE, pause } from '../contender.ts'
import { openPostgresBooks } from '../storage/postgres.ts'

/**
 * The least that a program must do on PostgreSQL to hand a row to another: insert it, notify, and select it. No groups, no
 * acknowledgements, no second try: the limit that the others are held against, and not one of them.
 */
export async function openBareSql(url: string): Promise<Contender> {
  const books = await openPostgresBooks(url)
  const writer = await connect(url)
  const table = (topic: string): string => pg.escapeIdentifier(`bare_${topic}`)

  const readAfter = async (
    client: pg.Client,
    topic: string,
    last: string,
  ): Promise<{ id: string; payload: Buffer }[]> => {
    const text = `select id, payload from ${table(topic)} where id > $1 order by id limit ${PAGE}`
    return (await client.query<{ id: string; payload: Buffer }>({ name: `read ${topic}`, text, values: [last] })).rows
  }

  return {
    version: '',
    storage: books.storage,
    gatherStatistics: books.gatherStatistics,
    async prepare(topic) {
      await writer.query(
        `create table ${table(topic)} (id bigint generated always as identity primary key, payload bytea not null)`,
      )
    },
    async publishBatch(topic, payloads) {
      const values = [byteaArray(payloads.map(each => JSON.stringify(each)))]
      const text = `insert into ${table(topic)} (payload) select unnest($1::bytea[])`
      await writer.query({ name: `batch ${topic}`, text, values })
    },
    async publish(topic, payload) {
      const text = `insert into ${table(topic)} (payload) values ($1)`
      await writer.query({ name: `one ${topic}`, text, values: [Buffer.from(JSON.stringify(payload))] })
      if (listened.has(topic)) await writer.query(`notify ${table(topic)}`)
    },
    async drain(topic, messages) {
      for (let done = 0, last = '0'; done < messages; ) {
        const rows = await readAfter(writer, topic, last)
        for (const { payload } of rows) handleOrder(JSON.parse(payload.toString()) as Order)
        last = rows.at(-1)?.id ?? last
        done += rows.length
        if (rows.length === 0) await pause(1)
      }
      return performance.now()
    },
    async listen(topic, handle) {
      const client = await connect(url)
      let last = '0'
      let reading = Promise.resolve()
      client.on('notification', () => {
        reading = reading.then(async () => {
          const rows = await readAfter(client, topic, last)
          last = rows.at(-1)?.id ?? last
          for (const { payload } of rows) handle(JSON.parse(payload.toString()) as Order)
        })
      })
      await client.query(`listen ${table(topic)}`)
      listened.add(topic)
      return {
        async [Symbol.asyncDispose]() {
          client.removeAllListeners('notification')
          await reading
          await client.end()
        },
      }
    },
    async [Symbol.asyncDispose]() {
      await writer.end()
      await books[Symbol.asyncDispose]()
    },
  }
}

/** Only these are notified: an insert alone is what a publish is compared with. */
const listened = new Set<string>()
