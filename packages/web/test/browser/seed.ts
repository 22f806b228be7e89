import type { Tidemark } from 'tidemark'
import { metadataOf, ticksOf, type World } from '../../../server/test/worlds.ts'

const LAST_TICK = 12

/** Every screen of a server that was filled with what follows. */
export const screensOf = (runId: string): string[] => [
  '/',
  '/topics',
  '/topics/orders',
  '/topics/orders/groups/email',
  '/topics/orders/groups/billing',
  '/topics/orders/messages',
  '/topics/orders/messages?m=1',
  '/dead-letters',
  '/services',
  '/services/persistence',
  '/runs',
  `/runs/${runId}?t=5&o=2`,
]

/** A topic with a group that works, one that is paused, and one whose messages end as dead letters. */
export async function fillTopics(tm: Tidemark): Promise<AsyncDisposable> {
  await tm.configureTopic('orders', { semantics: 'pub-sub', maxAttempts: 1 })
  const email = tm.consumerGroup('orders', 'email')
  email.addConsumer('email-1', async () => undefined)
  const billing = tm.consumerGroup<{ orderId: number }>('orders', 'billing')
  billing.addConsumer('billing-1', async ({ payload }) => {
    if (payload.orderId % 4 === 0) throw new Error(`card ${payload.orderId} declined`)
  })
  const audit = tm.consumerGroup('orders', 'audit')
  audit.addConsumer('audit-1', async () => undefined)
  await audit.start({ from: 'now' })
  await tm.admin.pauseGroup('orders', 'audit')
  await email.start({ from: 'now' })
  await billing.start({ from: 'now' })
  for (let orderId = 1; orderId <= 20; orderId++) {
    await tm.publish('orders', { orderId, total: 100 + orderId }, { key: `customer-${orderId % 3}` })
  }
  return {
    async [Symbol.asyncDispose]() {
      await Promise.all([email.stop(), billing.stop(), audit.stop()])
    },
  }
}

/** A small run, indexed to its end. */
export async function fillWorld(world: World): Promise<void> {
  await world.post('/api/v1/ingest/metadata', metadataOf(world.runId))
  await world.ingest(ticksOf(world.runId, 0, LAST_TICK))
  await world.indexed(LAST_TICK)
}
