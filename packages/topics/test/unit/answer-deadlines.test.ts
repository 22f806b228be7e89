import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { until } from '../../../../testing/until.ts'
import { AnswerDeadlines } from '../../src/stores/postgres/answer-deadlines.ts'

const HOUR_MS = 3_600_000

describe('deadlines on one timer', () => {
  it('are missed one by one, whatever the order in which they began', async () => {
    const deadlines = new AnswerDeadlines()
    const missed: string[] = []
    const begin = (what: string, limitMs: number) =>
      deadlines.begin(performance.now(), limitMs, () => void missed.push(what))
    begin('in an hour', HOUR_MS)
    begin('third', 30)
    begin('first', 1)
    begin('second', 15)
    await until(() => missed.length === 3, { what: 'three of them to be missed' })
    assert.deepEqual(missed, ['first', 'second', 'third'])
    deadlines.clear()
  })

  it('are not missed once they have ended, and the timer set for them serves the next one', async () => {
    const deadlines = new AnswerDeadlines()
    const missed: string[] = []
    for (let count = 0; count < 3; count++) {
      deadlines.end(deadlines.begin(performance.now(), 1, () => void missed.push('one that has ended')))
    }
    deadlines.begin(performance.now(), 20, () => void missed.push('the next'))
    await until(() => missed.length > 0, { what: 'the next one to be missed' })
    assert.deepEqual(missed, ['the next'])
  })

  it('may be as long as they like', async () => {
    const deadlines = new AnswerDeadlines()
    const missed: string[] = []
    deadlines.begin(performance.now(), Number.POSITIVE_INFINITY, () => void missed.push('never'))
    deadlines.begin(performance.now(), 5, () => void missed.push('soon'))
    await until(() => missed.length > 0, { what: 'the short one to be missed' })
    assert.deepEqual(missed, ['soon'])
    deadlines.clear()
  })
})
