import { PrismaPg } from '@prisma/adapter-pg'
import { open } from 'tidemark'
import { PrismaClient } from './generated/client.ts'
import { type OrderPlaced, placeOrder } from './place-order.ts'

// One database for both: a transaction can't span two.
const connectionString = process.env.DATABASE_URL ?? 'postgres://localhost/app'
const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString }) })
await using tm = await open(connectionString)
await tm.configureTopic('orders.placed', { semantics: 'pub-sub' })

const billing = tm.reader<OrderPlaced>('orders.placed', { group: 'billing', from: 'beginning' })
await placeOrder(prisma, tm, { orderId: Date.now() % 1_000_000, total: 12 })

const delivery = await billing.receive()
console.log(`billing: ${delivery.payload.total} for order ${delivery.payload.orderId}`)
await billing.ack(delivery)
await prisma.$disconnect()
