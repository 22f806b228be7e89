/** The process that applies the changes of a group's other processes is killed, stopped, blocked, closed, and doubled. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { skipWithoutNats } from '../../../../testing/nats-binary.ts'
import { type Script, spawnScript } from '../../../../testing/processes.ts'
import { until } from '../../../../testing/until.ts'
import type { GroupDocument } from '../../src/group/document.ts'
import { parsed, written } from '../../src/namespace.ts'
import { Conflict } from '../../src/nats/errors.ts'
import { topicKey } from '../../src/nats/names.ts'
import {
  claim,
  drain,
  isFull,
  numbersOf,
  onlyFull,
  type Parts,
  publishNumbers,
  range,
  servers,
  settle,
} from '../parts.ts'

type Told = { readonly claimed?: readonly number[]; readonly acked?: readonly number[] }

const END: Record<string, (script: Script) => void> = {
  killed: script => script.kill('SIGKILL'),
  stopped: script => script.kill('SIGSTOP'),
  blocked: script => script.send({ order: 'block' }),
  closed: script => script.send({ order: 'close' }),
}

describe('a steward', { skip: skipWithoutNats() }, () => {
  const { namespace } = servers()

  for (const [how, end] of Object.entries(END)) {
    it(`that is ${how} is replaced, and nothing is acknowledged twice or lost`, { skip: onlyFull }, async () => {
      const { open, url, name } = await namespace()
      await using parts = await open()
      const { store, steward } = parts
      const topic = await store.topics.configure('work', { semantics: 'pub-sub' })
      const group = await store.subscriptions.subscribe(topic, 'g', 'beginning')
      await publishNumbers(parts, topic, 1, 100)
      await using script = spawnScript(new URL('../scripts/member.ts', import.meta.url), [url, name, 'g'])
      const told = (): Told[] => script.messages as Told[]
      await until(() => told().some(({ acked }) => acked !== undefined), { what: 'the member to work' })
      const { me } = parts.ns
      assert.notEqual((await steward.read({ topic, id: group.id })).value.steward, me)
      end(script)
      await publishNumbers(parts, topic, 101, 400)
      const own: number[] = []
      const acked = (): number[] => told().flatMap(each => each.acked ?? [])
      const work = async (): Promise<void> => {
        const lease = await claim(parts, topic, group, { limit: 5, leaseMs: 1_000 })
        if (lease === null) return
        const { stale } = await settle(parts, lease, { acks: 'all' })
        own.push(...numbersOf(lease).filter((_, slot) => !stale.includes(slot)))
      }
      await until(
        async () => {
          await work()
          return own.length > 50
        },
        { what: 'this process to work alone', timeout: 40_000 },
      )
      if (how === 'stopped') script.kill('SIGCONT')
      const all = range(1, 400)
      await until(
        async () => {
          await work()
          const settled = new Set([...own, ...acked(), ...told().flatMap(each => each.claimed ?? [])])
          return all.every(n => settled.has(n)) && (await isEmpty(parts, topic, group.id))
        },
        { what: 'everything to be settled', timeout: 60_000 },
      )
      const twice = [...own, ...acked()].toSorted((a, b) => a - b).filter((n, i, sorted) => n === sorted[i - 1])
      assert.deepEqual(twice, [])
    })
  }

  it('that is not alone stores nothing over the other: leases never overlap', async () => {
    const { open } = await namespace()
    await using parts = await open()
    await using second = await open()
    await using third = await open()
    const { store, ns, client } = parts
    const topic = await store.topics.configure('work', { semantics: 'pub-sub' })
    const group = await store.subscriptions.subscribe(topic, 'g', 'beginning')
    const count = isFull ? 4_000 : 600
    await publishNumbers(parts, topic, 1, count)
    const key = topicKey(topic)
    const subject = ns.names.group(key, group.id)
    let isDone = false
    // Whoever reads the document next takes itself, or another one, for the steward.
    const confuse = async (): Promise<void> => {
      while (!isDone) {
        const found = parsed<GroupDocument>(await client.last(ns.names.groupStream(key), subject))
        const steward = [null, ns.me, second.ns.me, third.ns.me][Math.floor(Math.random() * 4)] ?? null
        if (found === null) return
        await client.store([written(subject, { ...found.value, steward }, found.seq)]).catch(error => {
          if (!(error instanceof Conflict)) throw error
        })
        await new Promise(resolve => setTimeout(resolve, 15))
      }
    }
    const confusing = confuse()
    const work = async (each: Parts): Promise<number[]> => {
      const taken: number[] = []
      for (;;) {
        const lease = await claim(each, topic, group, { limit: 7 })
        if (lease === null) return taken
        taken.push(...numbersOf(lease))
        assert.deepEqual((await settle(each, lease, { acks: 'all' })).stale, [])
      }
    }
    const taken = (await Promise.all([parts, second, third].map(work))).flat()
    isDone = true
    await confusing
    assert.deepEqual(
      taken.toSorted((a, b) => a - b),
      range(1, count),
    )
  })

  it('whose answer to a claim is lost gives the same lease to the repeated request', async () => {
    const { open } = await namespace()
    await using parts = await open()
    await using other = await open()
    const topic = await parts.store.topics.configure('work', { semantics: 'pub-sub' })
    const group = await parts.store.subscriptions.subscribe(topic, 'g', 'beginning')
    await publishNumbers(parts, topic, 1, 20)
    const first = await claim(parts, topic, group, { limit: 5 })
    assert.deepEqual(numbersOf(first), range(1, 5))
    // The other process asks this one, whose next answer is lost.
    const { connection } = other.client
    const { ask } = connection
    let lost = 0
    connection.ask = async function (this: typeof connection, subject, body, timeoutMs) {
      const answer = await ask.call(this, subject, body, timeoutMs)
      if (lost++ > 0) return answer
      // Nothing else than a timeout is what the asker would see.
      const { errors } = await import('@nats-io/transport-node')
      throw new errors.TimeoutError()
    }
    assert.deepEqual(numbersOf(await claim(other, topic, group, { limit: 5 })), range(6, 10))
    assert.ok(lost >= 1, 'the other process did not ask')
    assert.deepEqual(numbersOf(await claim(parts, topic, group, { limit: 20 })), range(11, 20))
    const { value } = await parts.steward.read({ topic, id: group.id })
    assert.equal(Object.keys(value.leases).length, 3)
    assert.deepEqual(await drain(parts, topic, group), [])
  })
})

async function isEmpty({ steward }: Parts, topic: { id: number; uid: number }, id: number): Promise<boolean> {
  const { value } = await steward.read({ topic, id })
  return Object.keys(value.leases).length + value.retries.length + value.pages.length === 0
}
