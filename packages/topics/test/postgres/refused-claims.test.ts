import assert from 'node:assert/strict'
import { it } from 'node:test'
import { open } from '../../src/index.ts'
import { executePostgres, SHARED_STORES, SILENT } from '../conformance/stores.ts'
import { Network } from './network.ts'

const [postgres] = SHARED_STORES.filter(({ name }) => name === 'PostgreSQL')
const fresh = () => postgres?.fresh() ?? Promise.reject(new Error('There is no PostgreSQL'))

it('a claim that the server refused has claimed nothing: the next one does not release it', async () => {
  await using database = await fresh()
  await using network = await Network.to(database.url)
  await using tm = await open(network.url, { logger: SILENT, maintenance: false })
  await tm.publish('work', 1)
  await executePostgres(database.url, 'alter table tidemark.lease add constraint refused check (size = 0)')
  await assert.rejects(tm.pull('work'), /refused/)
  await executePostgres(database.url, 'alter table tidemark.lease drop constraint refused')
  const sent: string[] = []
  network.onSent = text => sent.push(text)
  const { messages } = await tm.pull('work')
  assert.deepEqual(
    messages.map(({ id, attempt }) => [id, attempt]),
    [[1, 1]],
  )
  const looks = sent.filter(text => text.includes('select token, size from'))
  assert.deepEqual([sent.some(text => text.includes('tidemark_claim')), looks.length], [true, 0])
})
