/** Several consumer groups in one process, which share the rows that one of them has read. */
import { setTimeout as delay } from 'node:timers/promises'
import { type ConsumerGroup, type Delivery, SubscriptionGoneError, type Tidemark } from 'tidemark'
import { isBad, type Payload } from '../world.ts'
import { handed, noteDelivered, noteSettlement } from './settle.ts'
import { isPassing, journal, pause, random, runWorker, sayReady, stopping } from './worker.ts'

/** Long enough that a process which is stopped holds messages. */
const LONGEST_WORK_MS = 80
const FAIL_ONE_IN = 40

export async function runGroups(
  groups: readonly { topic: string; group: string; heartbeatMs?: number }[],
): Promise<void> {
  await runWorker(async tm => {
    const ended = new AbortController()
    tm.on('namespace-gone', ({ error }) => ended.abort(error))
    tm.on('group-stopped', ({ reason }) => reason && ended.abort(reason))
    const running = await Promise.all(groups.map(each => startPatiently(tm, each)))
    // A group that is stopped before has not yet the heartbeats by which it is found dead.
    sayReady()
    while (!stopping.signal.aborted && !ended.signal.aborted) await pause(50)
    ended.signal.throwIfAborted()
    await Promise.all(running.map(group => group?.stop({ timeout: '5s' })))
  }, false)
}

async function startPatiently(
  tm: Tidemark,
  { topic, group, heartbeatMs }: { topic: string; group: string; heartbeatMs?: number },
): Promise<ConsumerGroup<Payload> | undefined> {
  while (!stopping.signal.aborted) {
    try {
      const consumers = tm.consumerGroup<Payload>(topic, group === '' ? undefined : group, { batchSize: 10 })
      consumers.addConsumer(`one-${process.pid}`, delivery => handle(topic, group, delivery), { concurrency: 6 })
      consumers.addConsumer(`two-${process.pid}`, delivery => handle(topic, group, delivery), { concurrency: 4 })
      const heartbeat =
        heartbeatMs === undefined ? {} : { heartbeat: { interval: heartbeatMs / 4, timeout: heartbeatMs, misses: 1 } }
      await consumers.start({ from: 'beginning', ...heartbeat })
      return consumers
    } catch (error) {
      if (!isPassing(error) && !(error instanceof SubscriptionGoneError)) throw error
      await pause(100)
    }
  }
  return undefined
}

/** Half of the acks are awaited; the others are left to the group, which acknowledges when the handler returns. */
async function handle(topic: string, group: string, delivery: Delivery<Payload>): Promise<void> {
  const message = handed(topic, group, delivery)
  noteDelivered(message)
  await delay(random.below(LONGEST_WORK_MS))
  if (isBad(message.key) || random.chance(1 / FAIL_ONE_IN)) {
    journal.write({ what: 'nack', phase: 'invoked', ...message })
    throw new Error('This message is bad')
  }
  if (random.chance(0.5)) {
    await noteSettlement('ack', [message], () => delivery.ack())
    return
  }
  journal.write({ what: 'ack', phase: 'invoked', ...message })
}
