import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { Tidemark } from '../../index.ts'
import type { ConformanceStore, ConformanceStores } from '../conformance-store.ts'
import { groupOf } from '../consuming.ts'
import { letDie } from '../dying.ts'
import { it } from '../it.ts'
import type { Script } from '../script.ts'
import { spawn } from '../spawn.ts'
import { until } from '../until.ts'

const TIMEOUT_MS = 5_000

export function killedGroup({ shared }: ConformanceStores): void {
  for (const store of shared) {
    describe(`a group whose process disappears, on ${store.name}`, () => {
      it('is found dead after SIGKILL, and another process receives what it held', async () => {
        await using database = await store.fresh()
        const tm = await pubSub(await database.open())
        await using victim = await consumer(store, database.url, true)
        await tm.publishBatch('events', [1, 2, 3])
        await victim.waitForLine('got 1 attempt 1')
        victim.kill('SIGKILL')
        await victim.exited
        await letDie(tm, database, TIMEOUT_MS)
        assert.equal((await groupOf(tm, 'events', 'g')).status, 'DEAD')
        await tm.publish('events', 4)
        await using heir = await consumer(store, database.url, false)
        for (const n of [1, 2, 3, 4]) await heir.waitForLine(`got ${n} `)
        assert.equal((await groupOf(tm, 'events', 'g')).status, 'ACTIVE')
        assert.ok(heir.lines.includes('got 1 attempt 2'), heir.lines.join())
        await drained(tm)
      })

      it('is found dead while stopped by SIGSTOP, and comes back by itself when it continues', async () => {
        await using database = await store.fresh()
        const tm = await pubSub(await database.open())
        await using victim = await consumer(store, database.url, true)
        await tm.publish('events', 1)
        await victim.waitForLine('got 1 attempt 1')
        victim.send({ freeze: true })
        await victim.waitForLine('freezing')
        await letDie(tm, database, TIMEOUT_MS)
        assert.equal((await groupOf(tm, 'events', 'g')).status, 'DEAD')
        await tm.publish('events', 2)
        victim.kill('SIGCONT')
        await victim.waitForLine('group-resurrected')
        // What it held before it died is taken over on its own: its old handler is late.
        await victim.waitForLine('got 1 attempt 2')
        await victim.waitForLine('got 2 attempt 1')
        victim.send({ release: true })
        await victim.waitForLine('stale')
        await drained(tm)
        assert.equal(victim.lines.includes('group-stopped'), false)
        victim.send({ stop: true })
        assert.deepEqual(await victim.exited, { code: 0, signal: null })
      })
    })
  }
}

async function pubSub(tm: Tidemark): Promise<Tidemark> {
  await tm.configureTopic('events', { semantics: 'pub-sub', lease: '1h', retention: '2h' })
  return tm
}

async function consumer(store: ConformanceStore, url: string, hold: boolean): Promise<Script> {
  const script = spawn(store, 'beating-consumer', [JSON.stringify({ url, topic: 'events', group: 'g', hold })])
  await script.waitForLine('started')
  return script
}

async function drained(tm: Tidemark): Promise<void> {
  await until(
    async () => {
      const { backlog, inFlight, retries } = await groupOf(tm, 'events', 'g')
      return backlog + inFlight + retries === 0
    },
    { what: 'the group to drain' },
  )
}
