import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { diagnose, type Logger, open } from 'tidemark'
import { freshDatabase } from '../../../../testing/databases.ts'
import { preparedStatements, skipWithoutPooler, startPooler } from '../../../../testing/pooler.ts'
import { until } from '../../../../testing/until.ts'

describe('behind a pooler in transaction mode', { skip: skipWithoutPooler }, () => {
  it('polls, reports it once, and prepares nothing', async () => {
    await using database = await freshDatabase()
    await using pooler = await startPooler(database.url)
    const warnings: string[] = []
    const logger: Logger = { debug() {}, info() {}, warn: (_, text) => warnings.push(text), error() {} }
    await using here = await open(pooler.url, { logger })
    await using there = await open(pooler.url, { logger: { ...logger, warn() {} } })
    assert.match(warnings.join('\n'), /^LISTEN does not work.*$/)

    await here.configureTopic('work', { semantics: 'pub-sub' })
    const seen: number[] = []
    const group = there.consumerGroup<number>('work', 'g')
    group.addConsumer('c', ({ payload }) => seen.push(payload), { concurrency: 2 })
    await group.start({ from: 'beginning' })
    await Promise.all(Array.from({ length: 100 }, (_, n) => here.publish('work', n)))
    await here.publishBatch('work', [100, 101])
    await until(() => seen.length === 102, { what: 'the other instance to find them' })
    assert.deepEqual(
      seen.toSorted((a, b) => a - b),
      Array.from({ length: 102 }, (_, n) => n),
    )
    assert.equal(warnings.length, 1)
    // A session of the server may be anybody's next: what one client prepared there, another would trip over.
    assert.deepEqual(await preparedStatements(pooler.url), [])
    const listening = (await diagnose(pooler.url)).find(({ check }) => check === 'LISTEN')
    assert.equal(listening?.state, 'warn')
    assert.match(listening?.advice ?? '', /connect to the server directly/)
  })
})
