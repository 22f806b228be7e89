import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { until } from '../../../testing/until.ts'
import { serve, type TestServer } from './servers.ts'

const SHARED = { 'cache-control': 'max-age=10' }
const GROUP = '/api/v1/topics/jobs/groups/g'

/** A pub-sub topic of five messages, whose group nacks one more each time. */
async function failing(server: TestServer) {
  await server.tm.configureTopic('jobs', { semantics: 'pub-sub' })
  const reader = server.tm.reader('jobs', { group: 'g', consumer: 'c' })
  await reader.ready()
  await server.tm.publishBatch('jobs', [1, 2, 3, 4, 5])
  return async (): Promise<void> => {
    const delivery = await reader.receive()
    await delivery.nack('no', { delay: '1h' })
  }
}

describe('reads of a group', () => {
  it('are shared by all who accept an age, and made for everybody else', async () => {
    await using server = await serve()
    const fail = await failing(server)
    const count = async (headers?: Record<string, string>): Promise<number> =>
      (await server.get(`${GROUP}/retries`, headers)).body.retries.length
    await fail()
    assert.equal(await count(SHARED), 1)
    await fail()
    assert.equal(await count(SHARED), 1)
    assert.equal(await count(), 2)
    assert.equal(await count({ 'cache-control': 'no-cache' }), 2)
    assert.equal(await count({ 'cache-control': 'max-age=0' }), 2)
  })

  it('are made again when they are older than accepted', async () => {
    await using server = await serve()
    const fail = await failing(server)
    const retries = async (): Promise<number> =>
      (await server.get(`${GROUP}/retries`, { 'cache-control': 'max-age=1' })).body.retries.length
    await fail()
    assert.equal(await retries(), 1)
    await fail()
    // Sooner than the read is forgotten, which is after ten seconds.
    await until(async () => (await retries()) === 2, { what: 'the second retry', timeout: 8_000 })
  })

  it('are those of the same address only', async () => {
    await using server = await serve()
    const fail = await failing(server)
    await fail()
    await fail()
    const of = async (query: string) => (await server.get(`${GROUP}/retries${query}`, SHARED)).body.retries.length
    assert.deepEqual([await of('?limit=1'), await of('?limit=2')], [1, 2])
  })

  it('show an operator what the change did', async () => {
    await using server = await serve()
    const fail = await failing(server)
    const lists = ['/members', '/consumers', '/retries'].map(list => GROUP + list)
    const read = async () =>
      await Promise.all([...lists, '/api/v1/topics/jobs/claims'].map(path => server.get(path, SHARED)))
    await fail()
    for (const { status } of await read()) assert.equal(status, 200)
    await fail()
    assert.equal((await read())[2]?.body.retries.length, 1)
    assert.equal((await server.post(`${GROUP}/pause`)).status, 200)
    assert.equal((await read())[2]?.body.retries.length, 2)
  })

  it('that fail are not shared', async () => {
    await using server = await serve()
    assert.equal((await server.get(`${GROUP}/members`, SHARED)).status, 404)
    await failing(server)
    assert.equal((await server.get(`${GROUP}/members`, SHARED)).status, 200)
  })
})
