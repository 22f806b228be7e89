import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { open } from 'tidemark'
import { temporaryFolder } from '../../../testing/databases.ts'
import { until } from '../../../testing/until.ts'
import { ageJobs } from '../../topics/test/sqlite/age-jobs.ts'
import { SILENT, serve } from './servers.ts'
import { startWorld } from './worlds.ts'

type Reason = { readonly kind: string; readonly message: string; readonly blocking: boolean }

describe('the probes of an orchestrator', () => {
  it('find a server alive and ready', async () => {
    await using server = await serve()
    const live = await server.get('/health/live')
    assert.deepEqual([live.status, live.body.alive], [200, true])
    const ready = await server.get('/health/ready')
    assert.deepEqual([ready.status, ready.body.ready, ready.body.reasons], [200, true, []])
  })

  it('are told about a dead group and an overdue job, which stop no traffic', async () => {
    using folder = temporaryFolder()
    const file = join(folder.path, 'app.db')
    const tm = await open(`sqlite:${file}`, { logger: SILENT, maintenance: false })
    await using server = await serve({ topics: tm })
    await tm.configureTopic('news', { semantics: 'pub-sub' })
    const group = tm.consumerGroup('news', 'email').addConsumer('c', () => undefined)
    await group.start({ heartbeat: { interval: 5, timeout: 10, misses: 1 } })
    await group.stop()
    await until(
      async () => {
        await tm.admin.jobs['dead-groups'].runOnce()
        return (await tm.admin.groups('news'))[0]?.status === 'DEAD'
      },
      { what: 'the group to be dead' },
    )
    ageJobs(file, 86_400_000)
    const ready = await server.get('/health/ready')
    assert.deepEqual([ready.status, ready.body.ready], [200, true])
    const { body } = await server.get('/api/v1/health')
    assert.equal(body.healthy, false)
    for (const reasons of [ready.body.reasons, body.reasons] as Reason[][]) {
      assert.ok(reasons.every(({ blocking }) => !blocking))
      const said = Object.fromEntries(reasons.map(({ kind, message }) => [kind, message]))
      assert.match(said['dead-group'] ?? '', /^Group 'email' of topic 'news' is dead/)
      assert.match(said['overdue-job'] ?? '', /^Job 'dead-groups' is overdue: it last succeeded 86\d\d\d s ago/)
    }
  })

  it('get an error while a service fails, with its name', async () => {
    await using world = await startWorld({}, { broken: { type: './missing.ts' } })
    const ready = await world.get('/health/ready')
    assert.deepEqual([ready.status, ready.body.ready], [503, false])
    const [reason] = ready.body.reasons
    assert.deepEqual([reason.kind, reason.blocking], ['service', true])
    assert.match(reason.message, /^Service 'broken' \(ERROR\) is failing: /)
    assert.ok(!ready.text.includes(world.folder) && !ready.text.includes(process.cwd()))
    assert.equal((await world.get('/health/live')).status, 200)
    const { body } = await world.get('/api/v1/health')
    assert.deepEqual([body.healthy, body.reasons[0].kind], [false, 'service'])
  })
})
