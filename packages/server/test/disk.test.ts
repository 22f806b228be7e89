import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { metadataOf, startWorld, ticksOf } from './worlds.ts'

describe('a full disk over HTTP', () => {
  it('refuses ticks with 507, says how many were accepted, and shows size, growth and the reason', async () => {
    await using world = await startWorld({}, {}, { minFreeDisk: '900TB' })
    // Without metadata no tick could be used later: they are taken all the same.
    assert.equal((await world.post('/api/v1/ingest/metadata', metadataOf(world.runId))).status, 202)
    const refused = await world.ingest(ticksOf(world.runId, 0, 3))
    assert.deepEqual([refused.status, refused.body.code], [507, 'TIDEMARK_INGEST_PAUSED'])
    assert.match(
      refused.body.detail,
      /^None of these ticks were taken\. .*free disk space.*the source then resumes\. Send this again/,
    )
    assert.equal(refused.headers['retry-after'], '10')
    const { disk, healthy } = (await world.get('/api/v1/pipeline')).body
    assert.deepEqual([healthy, disk.paused], [false, true])
    const { text } = await world.get('/metrics')
    assert.match(text, /^tidemark_disk_paused 1$/m)
    assert.match(text, /^tidemark_disk_bytes\{part="topics",kind="topics"\} \d{4,}$/m)
    assert.match(text, /^tidemark_disk_free_bytes \d+$/m)
    assert.match(text, /^tidemark_disk_budget_bytes 2000000000$/m)
  })
})
