import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { startPostgres } from '../../../../testing/postgres-server.ts'
import { until } from '../../../../testing/until.ts'
import { DatabaseUnreachableError, OutcomeUnknownError } from '../../src/errors.ts'
import { openPostgres } from '../../src/stores/postgres/store.ts'
import { functionsSchema } from './functions-schema.ts'
import { ackAll, admin, claimLease, messages, open, payloads, quiet, request, useServer } from './store-bench.ts'

useServer()

describe('wake-ups', () => {
  it('reach only other processes of the namespace', async () => {
    await using bench = await open()
    await using other = await open({}, { namespace: bench.namespace })
    await using stranger = await open()
    const heard: unknown[] = []
    bench.store.watch(() => heard.push('self'))
    other.store.watch(topicId => heard.push(topicId))
    stranger.store.watch(() => heard.push('stranger'))
    for (let n = 0; n < 50; n++) await bench.store.log.publish(bench.topic, messages(1))
    await until(() => heard.includes(bench.topic.id), { what: 'the wake-up' })
    await bench.store.close()
    assert.deepEqual([...new Set(heard)], [bench.topic.id])
  })

  it('come back after the listening connection was lost', async () => {
    await using bench = await open({}, { applicationName: 'lost-listener' })
    await using other = await open({}, { namespace: bench.namespace })
    const heard: unknown[] = []
    bench.store.watch(topicId => heard.push(topicId))
    await admin.query("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'lost-listener'")
    await until(() => heard.includes(null), { what: 'the hint that something may be missed' })
    await other.store.log.publish(bench.topic, messages(1))
    await until(() => heard.includes(bench.topic.id), { what: 'the wake-up' })
  })
})

describe('when the server restarts', () => {
  it('continues by itself, and loses nothing that was acknowledged', async () => {
    await using own = await startPostgres({ durable: true })
    const store = await openPostgres({ url: own.url, namespace: 'default', rowCacheBytes: 1_000, logger: quiet })
    const topic = await store.topics.configure('topic', { leaseMs: 200 })
    const bench = {
      store,
      topic,
      namespace: 'default',
      schema: 'tidemark',
      functions: functionsSchema(),
      [Symbol.asyncDispose]: () => store.close(),
    }
    const subscription = await store.subscriptions.subscribe(topic, '', 'beginning')
    await store.log.publish(topic, messages(10))
    await claimLease(bench, subscription, { limit: 5 })
    await own.kill()
    await assert.rejects(
      store.log.publish(topic, messages(1, 100)),
      // The second where the connection was still thought to be there.
      error => error instanceof DatabaseUnreachableError || error instanceof OutcomeUnknownError,
    )
    await own.start()
    const works = () =>
      store.log.publish(topic, messages(1, 200)).then(
        () => true,
        () => false,
      )
    await until(works, { what: 'a publish to work again' })
    const seen = new Set<unknown>()
    const step = async () => {
      const { lease } = await store.leases.claim(request(bench, subscription))
      if (lease) {
        for (const value of payloads(lease)) seen.add(value)
        await store.leases.settle([ackAll(lease)])
      }
      return seen.size === 11
    }
    await until(step, { what: 'everything to be delivered' })
    await own.stop()
    await store.close()
  })
})
