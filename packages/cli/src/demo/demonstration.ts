import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Logger, Tidemark } from 'tidemark'
import { type Order, orderOf, RESTARTED_GROUP, ship, TOPIC } from './orders.ts'

const ORDERS_PER_SECOND = 20
/** Slower than the peak rate of orders, faster than the average: its lag grows and shrinks. */
const SLOW_HANDLER_MS = 45
const RUSH_EVERY = 30
const RUSH_ORDERS = 200
/** How long the process runs before it is killed. It is restarted after its group was declared dead. */
const LIFE_MS = 60_000
const REST_MS = 30_000

const CHILD = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? './restarted-group.ts' : './restarted-group.js', import.meta.url),
)

/**
 * Orders with three groups, so that a visitor of the page sees lag, retries, dead letters and recovery without doing anything: `quick`
 * keeps up, `shipping` is slow and now and then fails for good, and `restarted` runs in a process that is killed every 90 seconds.
 */
export async function demonstrate(topics: Tidemark, address: string, logger: Logger): Promise<AsyncDisposable> {
  const ended = new AbortController()
  const { signal } = ended
  await topics.configureTopic(TOPIC, {
    semantics: 'pub-sub',
    retention: '1h',
    maxAttempts: 3,
    backoff: { initial: '2s', max: '10s', factor: 2 },
    lease: '10s',
  })
  const quick = topics.consumerGroup<Order>(TOPIC, 'quick')
  quick.addConsumer('quick-1', async () => undefined)
  const shipping = topics.consumerGroup<Order>(TOPIC, 'shipping')
  for (const name of ['shipping-1', 'shipping-2']) {
    shipping.addConsumer(name, async ({ payload }) => {
      await delay(SLOW_HANDLER_MS)
      ship(payload)
    })
  }
  await quick.start({ from: 'now' })
  await shipping.start({ from: 'now' })
  const work = Promise.all([
    publishOrders(topics, signal),
    restartAgainAndAgain(address, signal, logger),
    lookForDeadGroups(topics, signal),
  ])
  work.catch(error => logger.warn({ err: error }, 'the demonstration has ended'))
  return {
    async [Symbol.asyncDispose]() {
      ended.abort()
      await work.catch(() => undefined)
      await Promise.all([quick.stop(), shipping.stop()])
    },
  }
}

async function publishOrders(topics: Tidemark, signal: AbortSignal): Promise<void> {
  const publishOne = async (orderId: number): Promise<void> => {
    const order = orderOf(orderId)
    await topics.publish(TOPIC, order, { key: order.customer })
  }
  let orderId = (await topics.admin.describeTopic(TOPIC)).messagesPublished
  for (let second = 1; !signal.aborted; second++) {
    const count = ORDERS_PER_SECOND + (second % RUSH_EVERY === 0 ? RUSH_ORDERS : 0)
    // A temporarily unavailable database is no reason to stop: the next second tries again.
    await Promise.allSettled(Array.from({ length: count }, () => publishOne(++orderId)))
    await delay(1_000, undefined, { signal, ref: false }).catch(() => undefined)
  }
}

/** Maintenance does it once a minute, which is longer than a visitor waits. */
async function lookForDeadGroups(topics: Tidemark, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await topics.admin.jobs['dead-groups'].runOnce().catch(() => undefined)
    await delay(5_000, undefined, { signal, ref: false }).catch(() => undefined)
  }
}

async function restartAgainAndAgain(address: string, signal: AbortSignal, logger: Logger): Promise<void> {
  while (!signal.aborted) {
    const child = spawn(process.execPath, [...process.execArgv, CHILD, address, RESTARTED_GROUP], {
      stdio: ['pipe', 'ignore', 'inherit'],
    })
    const exited = new Promise<void>(resolve => child.once('exit', () => resolve()))
    child.once('error', error => logger.warn({ err: error }, 'a process of the demonstration could not be started'))
    await Promise.race([exited, delay(LIFE_MS, undefined, { signal, ref: false }).catch(() => undefined)])
    await end(child, exited, signal.aborted)
    await delay(REST_MS, undefined, { signal, ref: false }).catch(() => undefined)
  }
}

/** Killed without warning, as in a crash; stopped gracefully when the demonstration itself ends. */
async function end(child: ChildProcess, exited: Promise<void>, isOver: boolean): Promise<void> {
  child.kill(isOver ? 'SIGTERM' : 'SIGKILL')
  await exited
}
