import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { open } from 'tidemark'
import { freshDatabase } from '../../../testing/databases.ts'
import { until } from '../../../testing/until.ts'
import { Network } from '../../topics/test/postgres/network.ts'
import { SILENT, serve } from './servers.ts'

describe('a database that goes silent', () => {
  it('is reported by /health, by the health of the topics and by /metrics, within seconds', async () => {
    const { url, drop } = await freshDatabase()
    const network = await Network.to(url)
    const tm = await open(network.url, { logger: SILENT, maintenance: false, statementTimeout: '1m' })
    const server = await serve({ topics: tm })
    try {
      await tm.configureTopic('events', { semantics: 'pub-sub' })
      const group = tm.consumerGroup('events', 'g').addConsumer('c', () => undefined)
      await group.start({ heartbeat: { interval: 100 } })
      const well = await server.get('/health')
      assert.deepEqual([well.status, well.body.topics.unreachableSince], [200, null])
      network.cut()
      const answers = await Promise.all([server.get('/health'), server.get('/health'), server.get('/api/v1/health')])
      assert.deepEqual(
        answers.map(({ status }) => status),
        [503, 503, 200],
      )
      const [live, ready] = await Promise.all([server.get('/health/live'), server.get('/health/ready')])
      assert.deepEqual([live.status, ready.status, ready.body.ready], [200, 503, false])
      assert.ok(ready.body.reasons.some((reason: { kind: string }) => reason.kind === 'database'))
      const [first, , topics] = answers
      assert.equal(first?.body.topics.healthy, false)
      assert.ok(new Date(first?.body.topics.unreachableSince).getTime() <= Date.now())
      assert.deepEqual([topics?.body.healthy, topics?.body.database.reachable], [false, false])
      const failing = await until(
        async () => {
          const { body } = await server.get('/health')
          return body.topics.failing[0]
        },
        { what: 'the group to be told of' },
      )
      assert.deepEqual([failing.topic, failing.group], ['events', 'g'])
      await until(() => tm.metrics().failures.heartbeat > 0, { what: 'a heartbeat that fails' })
      const { text } = await server.get('/metrics')
      assert.match(text, /tidemark_database_failures_total\{kind="heartbeat"\} [1-9]/)
      assert.match(text, /tidemark_database_failures_total\{kind="connection"\} [1-9]/)
      assert.match(text, /tidemark_database_outage_seconds\{kind="connection"\} [0-9.]+/)
      assert.match(text, /tidemark_group_failing_seconds\{topic="events",group="g"\} [0-9.]+/)
      network.heal()
      await until(async () => (await server.get('/health')).status === 200, { what: 'it to be well again' })
    } finally {
      await server[Symbol.asyncDispose]()
      await network[Symbol.asyncDispose]()
      await drop()
    }
  })
})
