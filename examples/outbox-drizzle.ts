/**
 * A transactional outbox with Drizzle on PostgreSQL: the order and its message are stored together, or not at all. There is no
 * outbox table to poll; Tidemark's topics are in your database.
 *
 *   DATABASE=postgres://… node outbox-drizzle.ts
 */
import { sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { integer, pgTable } from 'drizzle-orm/pg-core'
import { Pool } from 'pg'
import { open } from 'tidemark'

const orders = pgTable('orders', { id: integer().primaryKey(), total: integer().notNull() })
type OrderPlaced = { orderId: number; total: number }

const connectionString = process.env.DATABASE ?? 'postgres://localhost/app'
const pool = new Pool({ connectionString })
const db = drizzle(pool)
await db.execute(sql`create table if not exists ${orders} (id int primary key, total int not null)`)

// The same database: a transaction can't span two.
const tm = await open<{ 'orders.placed': OrderPlaced }>(connectionString)
await tm.configureTopic('orders.placed', { semantics: 'pub-sub' })

const billing = tm.consumerGroup('orders.placed', 'billing')
billing.addConsumer('billing-1', ({ payload }) => console.log(`billing: ${payload.total} for order ${payload.orderId}`))
await billing.start({ from: 'beginning' })

await placeOrder({ orderId: 7, total: 12 })
// The second order of this number violates the primary key. Its transaction is rolled back, and so is its message.
await placeOrder({ orderId: 7, total: 99 }).catch(() => console.log('order 7 is refused, and nobody is told about it'))
await placeOrder({ orderId: 8, total: 5 })

async function placeOrder({ orderId, total }: OrderPlaced): Promise<void> {
  await db.transaction(async tx => {
    // Pass `tx`, not `db`: with `db` the message would be stored at once, so Tidemark refuses it.
    await tm.publish('orders.placed', { orderId, total }, { tx, key: `order-${orderId}` })
    await tx.insert(orders).values({ id: orderId, total })
  })
}

// Until every group has processed every message.
while ((await tm.admin.groups('orders.placed')).some(({ lagMessages }) => lagMessages > 0)) {
  await new Promise(resolve => setTimeout(resolve, 50))
}
await billing.stop()
await tm.close()
await pool.end()
