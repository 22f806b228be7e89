/** Reaches inside: nobody makes a hundred groups die, or a job run for a day, to see how that is told. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { PipelineStatus } from '@tidemark/pipeline'
import type { Health } from 'tidemark'
import { MOST_REASONS, mainReasons, type Reason, topicReasons } from '../src/health/reasons.ts'
import { attentionOf, MOST_ATTENTION } from '../src/live/attention.ts'
import type { TopicLive } from '../src/live/shapes.ts'

const note = (n: number): Reason => ({ kind: 'dead-group', message: `group ${n}`, blocking: false })
const blocking: Reason = { kind: 'database', message: 'away', blocking: true }
const many = (count: number): Reason[] => Array.from({ length: count }, (_, n) => note(n))

describe('the reasons for being unhealthy', () => {
  it('begin with what blocks the server', () => {
    assert.deepEqual(mainReasons([note(1), blocking, note(2)]), [blocking, note(1), note(2)])
  })

  it('are at most a hundred, the last of which counts the others', () => {
    assert.equal(mainReasons(many(MOST_REASONS)).at(-1)?.message, 'group 99')
    const told = mainReasons(many(MOST_REASONS + 5))
    assert.equal(told.length, MOST_REASONS)
    assert.equal(told.at(-1)?.message, 'group 99; and 5 other reasons')
  })

  it('have a job that was not run for long, unless it is running', () => {
    const ago = Date.now() - 86_400_000
    const overdue = (running: boolean): string[] =>
      topicReasons({
        ...{ checkedAt: new Date(), database: { reachable: true }, failing: [], dead: [], nearTimeout: [], lost: [] },
        ...{ stuck: [], inconsistencies: [], partitions: [], horizonHolders: [], zombies: [], unsubscribed: [] },
        jobs: [{ name: 'dead-groups', running, runs: 1, startedAt: ago, succeededAt: ago }],
        cleanUp: { overdue: false, removable: [] },
      } as unknown as Health).map(({ kind }) => kind)
    assert.deepEqual(overdue(false), ['overdue-job'])
    assert.deepEqual(overdue(true), [])
  })
})

describe('what needs attention', () => {
  const topics = (count: number) =>
    Array.from({ length: count }, (_, n) => ({
      topic: `t${n}`,
      groups: [{ group: 'g', deadLetters: 1 }],
    })) as unknown as readonly TopicLive[]

  it('has an end, which counts the rest', () => {
    assert.equal(attentionOf(undefined, undefined, topics(MOST_ATTENTION)).at(-1)?.kind, 'dead-letters')
    const found = attentionOf(undefined, undefined, topics(MOST_ATTENTION + 5))
    assert.equal(found.length, MOST_ATTENTION)
    assert.deepEqual([found.at(-1)?.kind, found.at(-1)?.count], ['more', 6])
  })

  it('has the gaps of the indexer that misses most, once', () => {
    const service = (name: string, openGaps: number, permanentGaps: number) => ({
      ...{ name, healthy: true, metrics: { openGaps, permanentGaps } },
    })
    const services = [service('a', 1, 0), service('b', 2, 1), service('c', 0, 0)]
    const pipeline = { services, resources: [], disk: { healthy: true } } as unknown as PipelineStatus
    const [gaps, ...others] = attentionOf(undefined, pipeline, [])
    assert.deepEqual([gaps?.service, gaps?.count, others], ['b', 3, []])
  })
})
