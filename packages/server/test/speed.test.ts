import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { queue } from '@tidemark/pipeline'
import { temporaryFolder } from '../../../testing/folders.ts'
import { until } from '../../../testing/until.ts'
import { RUN_ID, startWorld } from './worlds.ts'

const TOKENS = { admin: 'admin-0f3k9q2m7x5v', operate: 'operate-0f3k9q2m7x5v' }

/** A world with a simulation, which is as slow as it can be. */
const simulated = (thread: boolean, stateFolder: string) =>
  startWorld(
    {},
    {
      simulation: {
        type: 'simulation',
        thread,
        bindings: { ticks: queue('ticks'), metadata: queue('metadata') },
        options: { runId: RUN_ID, shape: [10, 10], stateFolder, ticksPerSecond: 0.001 },
      },
    },
  )

const SERVICE = '/api/v1/pipeline/services/simulation'

for (const thread of [false, true]) {
  describe(`a simulation ${thread ? 'in a thread' : 'of this thread'}`, () => {
    it('makes exactly the ticks that it is told to, and waits for more', async () => {
      using folder = temporaryFolder()
      await using world = await simulated(thread, folder.path)
      const status = async () => (await world.get(SERVICE)).body
      await until(async () => (await status()).metrics.tick === 1, { what: 'its first tick' })
      assert.deepEqual((await status()).speed, { ticksPerSecond: 0.001, configured: 0.001 })
      const first = await world.post(`${SERVICE}/step`, { ticks: 5 })
      assert.deepEqual([first.status, first.body], [200, { from: 1, to: 6, ticks: 5 }], first.text)
      const both = await Promise.all([3, 4].map(ticks => world.post(`${SERVICE}/step`, { ticks })))
      assert.deepEqual(
        both.map(({ body }) => body.ticks),
        [3, 4],
      )
      assert.equal((await status()).state, 'PAUSED')
      await until(async () => (await status()).metrics.tick === 13, { what: 'the tick in its status' })
      await world.indexed(13)
      assert.deepEqual((await world.get(`/api/v1/runs/${RUN_ID}/ticks`)).body.ranges, [[0, 13, 1]])
      const [facts] = (await world.get('/api/v1/runs?facts=true')).body.runs
      assert.equal(facts.live, true)
    })

    it('takes another speed at once, shows it, and keeps it over a restart', async () => {
      using folder = temporaryFolder()
      await using world = await simulated(thread, folder.path)
      const status = async () => (await world.get(SERVICE)).body
      const faster = await world.post(`${SERVICE}/speed`, { ticksPerSecond: 500 })
      assert.deepEqual(
        [faster.status, faster.body.speed],
        [200, { ticksPerSecond: 500, configured: 0.001 }],
        faster.text,
      )
      await until(async () => (await status()).metrics.tick > 20, { what: 'it to run' })
      assert.deepEqual((await world.post(`${SERVICE}/speed`, { ticksPerSecond: null })).body.speed, {
        ticksPerSecond: null,
        configured: 0.001,
      })
      await world.post(`${SERVICE}/restart`)
      assert.deepEqual((await status()).speed, { ticksPerSecond: null, configured: 0.001 })
      await world.post(`${SERVICE}/stop`)
      const stopped = await world.post(`${SERVICE}/step`, { ticks: 1 })
      assert.deepEqual([stopped.status, stopped.body.code], [409, 'TIDEMARK_SERVICE_NOT_RUNNING'])
      await until(async () => !(await world.get('/api/v1/runs?facts=true')).body.runs[0]?.live, {
        what: 'it to be no longer live',
        timeout: 40_000,
      })
    })
  })
}

describe('a speed', () => {
  it('is refused where it is none, for services that have none, and without the role', async () => {
    await using world = await startWorld({ tokens: TOKENS })
    const post = (path: string, body: unknown, token = TOKENS.admin) =>
      world.call('POST', `/api/v1/pipeline/services/${path}`, { body, headers: { authorization: `Bearer ${token}` } })
    for (const [path, body] of [
      ['speed', { ticksPerSecond: 5 }],
      ['step', { ticks: 5 }],
    ] as const) {
      const none = await post(`persistence/${path}`, body)
      assert.deepEqual([none.status, none.body.code], [409, 'TIDEMARK_NO_SPEED'])
      assert.match(none.body.detail, /'persistence' has no speed.*pause the service/)
      assert.equal((await post(`nobody/${path}`, body)).status, 404)
      assert.equal((await post(`persistence/${path}`, body, TOKENS.operate)).status, 403)
    }
    for (const ticksPerSecond of [0, -1, '5', 1e9])
      assert.equal((await post('persistence/speed', { ticksPerSecond })).status, 400)
    for (const ticks of [0, -1, 1.5, 1e6, null]) assert.equal((await post('persistence/step', { ticks })).status, 400)
    const { body } = await world.call('GET', '/api/v1/audit?action=setSpeed', {
      headers: { authorization: `Bearer ${TOKENS.admin}` },
    })
    assert.ok(
      body.entries.some(
        ({ outcome, code }: { outcome: string; code: string }) => outcome === 'failed' && code === 'TIDEMARK_NO_SPEED',
      ),
    )
    assert.ok(body.entries.some(({ outcome }: { outcome: string }) => outcome === 'refused'))
  })
})
