/** oltp.ts <work>: a workload that has nothing to do with topics, at a fixed rate of transactions (like pgbench's). */
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { monotonicMs } from '../../topics/monotonic.ts'
import { reportTo, Sample } from '../load/answer-parent.ts'
import type { PublishReport } from '../load/messages.ts'

const CUSTOMERS = 10_000
const CONNECTIONS = 32

const { url, perSecond } = JSON.parse(process.argv[2] ?? '') as { url: string; perSecond: number }
const pool = new pg.Pool({ connectionString: url, max: CONNECTIONS })
pool.on('error', () => {})
await pool.query(
  'create table customers (id int primary key, balance bigint not null default 0, orders int not null default 0)',
)
await pool.query(`insert into customers (id) select generate_series(1, ${CUSTOMERS})`)
await pool.query(
  'create table orders (id bigint generated always as identity primary key, customer int not null, amount int not null, at timestamptz default now())',
)
await pool.query('create index on orders (customer)')

const durations = new Sample(2_000)
let done = 0
let isStopping = false
const since = monotonicMs()
const report = (): PublishReport => ({
  published: done,
  durations: durations.take(),
  lateMs: Math.max(0, monotonicMs() - since - (done * 1_000) / perSecond),
})
const lastReport = reportTo(report, command => {
  if (command.stop) isStopping = true
})
process.send?.({ started: monotonicMs() })

// Each transaction is due at its time, whether or not an earlier one has ended: a slow server is not asked less often.
let next = 0
const worker = async (): Promise<void> => {
  while (!isStopping) {
    const dueAt = since + (next++ * 1_000) / perSecond
    const wait = dueAt - monotonicMs()
    if (wait > 0) await delay(wait)
    const started = monotonicMs()
    await transaction()
    durations.add(monotonicMs() - started)
    done++
  }
}
await Promise.all(Array.from({ length: CONNECTIONS }, worker))
await pool.end()
lastReport()
process.disconnect()

/** One order: an insert, an update and a query. */
async function transaction(): Promise<void> {
  const customer = 1 + Math.floor(Math.random() * CUSTOMERS)
  const amount = Math.floor(Math.random() * 10_000)
  const client = await pool.connect()
  try {
    await client.query('begin')
    await client.query({
      name: 'order',
      text: 'insert into orders (customer, amount) values ($1, $2)',
      values: [customer, amount],
    })
    await client.query({
      name: 'pay',
      text: 'update customers set balance = balance + $2, orders = orders + 1 where id = $1',
      values: [customer, amount],
    })
    await client.query({
      name: 'look',
      text: 'select amount from orders where customer = $1 order by id desc limit 5',
      values: [customer],
    })
    await client.query('commit')
  } finally {
    client.release()
  }
}
