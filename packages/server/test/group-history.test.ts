import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { GroupHealth, Stats } from 'tidemark'
import { until } from '../../../testing/until.ts'
import { GroupChanges, MOST_CHANGES } from '../src/live/group-changes.ts'
import { serve } from './servers.ts'

describe('the history of a group', () => {
  it('records every change, whoever made it', async () => {
    await using server = await serve()
    await server.tm.configureTopic('orders', { semantics: 'pub-sub' })
    const group = server.tm.consumerGroup('orders', 'email')
    group.addConsumer('one', async () => undefined)
    await group.start()
    const read = async () => (await server.get('/api/v1/topics/orders/groups/email/history')).body.changes
    await until(async () => (await read()).length === 1, { what: 'the group to be seen' })
    await server.tm.admin.pauseGroup('orders', 'email')
    const changes = await until(
      async () => {
        const found = await read()
        return found.length === 2 && found
      },
      { what: 'the pause' },
    )
    assert.deepEqual(
      changes.map(({ at, ...change }: { at: string }) => change),
      [
        { kind: 'seen', to: 'ACTIVE', epoch: 1 },
        { kind: 'status', from: 'ACTIVE', to: 'PAUSED', epoch: 1 },
      ],
    )
    assert.equal((await server.get('/api/v1/topics/orders/groups/nobody/history')).status, 404)
  })

  it('merges consecutive missed heartbeats, and keeps a limited number', () => {
    const changes = new GroupChanges()
    const look = (health: Partial<GroupHealth>): void => changes.add(statsOf(health))
    look({})
    for (const misses of [1, 2, 3]) look({ misses })
    look({ misses: 3, status: 'DEAD' })
    look({ misses: 0, epoch: 2 })
    look({ misses: 0, epoch: 2, lost: 7 })
    assert.deepEqual(
      changes.read('a', 'g')?.map(({ at, ...change }) => change),
      [
        { kind: 'seen', to: 'ACTIVE', epoch: 1 },
        { kind: 'missed', misses: 3 },
        { kind: 'status', from: 'ACTIVE', to: 'DEAD', epoch: 1 },
        { kind: 'status', from: 'DEAD', to: 'ACTIVE', epoch: 2 },
        { kind: 'lost', messages: 7 },
      ],
    )
    for (let epoch = 3; epoch < 3 + 2 * MOST_CHANGES; epoch++) look({ epoch, lost: 7 })
    assert.equal(changes.read('a', 'g')?.length, MOST_CHANGES)
    changes.add({ ...statsOf({}), topics: {} })
    assert.equal(changes.read('a', 'g'), undefined)
  })
})

const CREATED = new Date(0)

function statsOf(health: Partial<GroupHealth>): Stats {
  const whole = {
    topic: 'a',
    group: 'g',
    status: 'ACTIVE',
    epoch: 1,
    misses: 0,
    lost: 0,
    createdAt: CREATED,
    ...health,
  }
  return { takenAt: new Date(), topics: { a: { groups: { g: whole } } }, jobs: {} } as unknown as Stats
}
