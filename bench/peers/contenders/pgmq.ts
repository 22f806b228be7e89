import pg from 'pg'
import { connect } from '../../topics/engines/postgres-client.ts'
import type { Order } from '../../topics/payloads.ts'
import { type Contender, handleOrder, PAGE, pause } from '../contender.ts'
import { openPostgresBooks } from '../storage/postgres.ts'

type Row = { readonly msg_id: string; readonly message: Order }

const CONNECTIONS = 10

/**
 * The tables and statements of the extension PGMQ (send, send_batch, read, delete), written out, since an extension can't be
 * installed everywhere: a table for each queue, claimed with `for update skip locked` and a visibility timeout, deleted when
 * it is done. A queue a group. Its listeners are woken as PGMQ's enable_notify_insert does it.
 */
export async function openPgmq(url: string): Promise<Contender> {
  const books = await openPostgresBooks(url)
  const pool = new pg.Pool({ connectionString: url, max: CONNECTIONS })
  const queues = new Map<string, string[]>()
  const queuesOf = (topic: string): string[] => queues.get(topic) ?? []
  const table = (queue: string): string => pg.escapeIdentifier(`q_${queue}`)

  const read = async (client: pg.ClientBase, queue: string): Promise<Row[]> => {
    const text = `
      with cte as (
        select msg_id from ${table(queue)} where vt <= clock_timestamp() order by msg_id asc limit ${PAGE} for update skip locked)
      update ${table(queue)} as m set last_read_at = clock_timestamp(), vt = clock_timestamp() + interval '30 seconds', read_ct = read_ct + 1
      from cte where m.msg_id = cte.msg_id returning m.msg_id, m.message`
    return (await client.query<Row>({ name: `read ${queue}`, text })).rows
  }

  const remove = async (client: pg.ClientBase, queue: string, rows: readonly Row[]): Promise<void> => {
    const text = `delete from ${table(queue)} where msg_id = any($1::bigint[]) returning msg_id`
    await client.query({ name: `delete ${queue}`, text, values: [rows.map(row => row.msg_id)] })
  }

  const drainQueue = async (queue: string, messages: number): Promise<void> => {
    const client = await pool.connect()
    try {
      for (let done = 0; done < messages; ) {
        const rows = await read(client, queue)
        for (const { message } of rows) handleOrder(message)
        if (rows.length > 0) await remove(client, queue, rows)
        else await pause(1)
        done += rows.length
      }
    } finally {
      client.release()
    }
  }

  return {
    version: '1.x',
    storage: books.storage,
    gatherStatistics: books.gatherStatistics,
    async prepare(topic, groups) {
      queues.set(
        topic,
        groups.map(group => `${topic}_${group}`),
      )
      for (const queue of queuesOf(topic)) {
        await pool.query(`
          create table ${table(queue)} (msg_id bigint primary key generated always as identity, read_ct int default 0 not null,
            enqueued_at timestamptz default now() not null, last_read_at timestamptz, vt timestamptz not null, message jsonb, headers jsonb);
          create index on ${table(queue)} (vt asc)`)
      }
    },
    async publishBatch(topic, payloads) {
      const values = [payloads.map(each => JSON.stringify(each))]
      await Promise.all(
        queuesOf(topic).map(queue => {
          const text = `insert into ${table(queue)} (vt, message) select clock_timestamp(), unnest($1::jsonb[]) returning msg_id`
          return pool.query({ name: `batch ${queue}`, text, values })
        }),
      )
    },
    async publish(topic, payload) {
      const values = [JSON.stringify(payload)]
      await Promise.all(
        queuesOf(topic).map(queue => {
          const text = `insert into ${table(queue)} (vt, message) values (clock_timestamp(), $1) returning msg_id`
          return pool.query({ name: `one ${queue}`, text, values })
        }),
      )
    },
    async drain(topic, messages) {
      await Promise.all(queuesOf(topic).map(queue => drainQueue(queue, messages)))
      return performance.now()
    },
    async listen(topic, handle) {
      const [queue = ''] = queuesOf(topic)
      await pool.query(`
        create function ${pg.escapeIdentifier(`notify_${queue}`)}() returns trigger language plpgsql as $$
          begin perform pg_notify('${queue}', tg_op); return null; end $$;
        create constraint trigger notify_inserts after insert on ${table(queue)} deferrable for each row
          execute function ${pg.escapeIdentifier(`notify_${queue}`)}()`)
      const client = await connect(url)
      let reading = Promise.resolve()
      client.on('notification', () => {
        reading = reading.then(async () => {
          const rows = await read(client, queue)
          for (const { message } of rows) handle(message)
          if (rows.length > 0) await remove(client, queue, rows)
        })
      })
      await client.query(`listen ${pg.escapeIdentifier(queue)}`)
      return {
        async [Symbol.asyncDispose]() {
          client.removeAllListeners('notification')
          await reading
          await client.end()
        },
      }
    },
    async [Symbol.asyncDispose]() {
      await pool.end()
      await books[Symbol.asyncDispose]()
    },
  }
}
