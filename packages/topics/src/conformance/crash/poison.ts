import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe } from 'node:test'
import type { DeadLetterMessage, Tidemark } from '../../index.ts'
import type { ConformanceStore, ConformanceStores } from '../conformance-store.ts'
import { it } from '../it.ts'
import { isLong } from '../long.ts'
import { spawn } from '../spawn.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { until } from '../until.ts'
import { allDeadLetters } from './dead-letters.ts'
import { type HandlerEntry, readJournal } from './journal.ts'

const TOPIC = 'jobs'
const GROUP = 'workers'
const BYSTANDER = 'bystanders'
const BATCH_SIZE = 50

type Run = {
  readonly maxAttempts: number
  readonly concurrency: number
  readonly messages: number
  /** Their places; by default one near the beginning. */
  readonly poisonAt?: readonly number[]
  readonly bystander?: string
  /** null: not given to the group. */
  readonly batchSize?: number | null
}

type Outcome = {
  readonly deaths: number
  readonly entries: readonly HandlerEntry[]
  readonly deadLetters: readonly DeadLetterMessage[]
  /** The bystanders' dead letters. */
  readonly others: readonly DeadLetterMessage[]
}

export function poisonedProcesses({ shared }: ConformanceStores): void {
  for (const store of shared) {
    describe(`a poison message that kills its process, on ${store.name}`, () => {
      for (const { maxAttempts, concurrency } of [
        { maxAttempts: 3, concurrency: 5 },
        ...(isLong
          ? [
              { maxAttempts: 2, concurrency: 1 },
              { maxAttempts: 3, concurrency: 1 },
              { maxAttempts: 5, concurrency: 1 },
            ]
          : []),
      ]) {
        const times = `${maxAttempts} attempts (concurrency ${concurrency})`
        it(`is dead-lettered after its ${times}, without its neighbours`, async () => {
          const { deaths, entries, deadLetters } = await runPoisoned(store, {
            maxAttempts,
            concurrency,
            messages: 60,
          })
          const all = Array.from({ length: maxAttempts }, (_, index) => index + 1)
          assert.equal(deaths, maxAttempts)
          assert.deepEqual(deadLetters.map(keyOf), ['poison-007'])
          const [letter] = deadLetters
          assert.equal(letter?.attempts, maxAttempts)
          assert.equal(letter?.error.name, 'LeaseExpiredError')
          assert.deepEqual(
            letter?.history.map(({ attempt, name }) => ({ attempt, name })),
            all.map(attempt => ({ attempt, name: 'LeaseExpiredError' })),
          )
          assert.deepEqual(attemptsAt(entries, 'poison-007'), all)
          assert.deepEqual(finishedKeys(entries), neighbours(60, [7]))
        })
      }

      it('spares its neighbours if others of its kind are in later pages, with two attempts', async () => {
        const poisonAt = [7, 299]
        const run = { maxAttempts: 2, concurrency: 1, messages: 300, poisonAt }
        const { entries, deadLetters } = await runPoisoned(store, run)
        assert.deepEqual(deadLetters.map(keyOf).sort(), ['poison-007', 'poison-299'])
        assert.deepEqual(finishedKeys(entries), neighbours(300, poisonAt))
      })

      it('spares another group of its process, with two attempts', async () => {
        const run = { maxAttempts: 2, concurrency: 1, messages: 60, bystander: BYSTANDER }
        const { entries, deadLetters, others } = await runPoisoned(store, run)
        assert.deepEqual(deadLetters.map(keyOf), ['poison-007'])
        assert.deepEqual(finishedKeys(entries), neighbours(60, [7]))
        assert.deepEqual(others.map(keyOf), [])
      })

      it('spares others with a single attempt too, without a batch size', async () => {
        const poisonAt = [0, 1, 59]
        const run = { maxAttempts: 1, concurrency: 1, messages: 60, poisonAt, batchSize: null }
        const { deaths, entries, deadLetters } = await runPoisoned(store, run)
        assert.equal(deaths, 3)
        assert.deepEqual(deadLetters.map(keyOf).sort(), ['poison-000', 'poison-001', 'poison-059'])
        assert.deepEqual(finishedKeys(entries), neighbours(60, poisonAt))
      })

      // Whatever its process had claimed and not settled shares the only attempt: its page, the page claimed ahead, and
      // messages that were finished but not yet acked.
      it('with a single attempt and a batch size costs its page and the one claimed ahead', async t => {
        const messages = 400
        const { deaths, entries, deadLetters } = await runPoisoned(store, {
          maxAttempts: 1,
          concurrency: 1,
          messages,
        })
        assert.equal(deaths, 1)
        const dead = deadLetters.map(keyOf)
        assert.ok(dead.includes('poison-007'))
        assert.equal(new Set(dead).size, dead.length)
        assert.ok(deadLetters.every(({ attempts, error }) => attempts === 1 && error.name === 'LeaseExpiredError'))
        assert.deepEqual(
          entries.filter(({ attempt }) => attempt > 1),
          [],
        )
        // A message that was finished but not yet acked is both.
        const ended = new Set([...finishedKeys(entries), ...dead])
        assert.deepEqual([...ended].sort(), [...neighbours(messages, [7]), 'poison-007'].sort())
        assert.ok(!dead.includes(neighbours(messages, [7]).at(-1) ?? ''))
        t.diagnostic(`${dead.length - 1} of ${messages - 1} neighbours died with it`)
      })
    })
  }
}

/** Restarts the group each time it dies, until nothing is left. */
async function runPoisoned(
  store: ConformanceStore,
  { maxAttempts, concurrency, messages, poisonAt = [7], bystander, batchSize = BATCH_SIZE }: Run,
): Promise<Outcome> {
  await using database = await store.fresh()
  using folder = temporaryFolder()
  const journal = join(folder.path, 'handlers.jsonl')
  const tm = await database.open()
  await tm.configureTopic(TOPIC, {
    semantics: 'pub-sub',
    // Longer than a busy machine may delay a settlement: on its last attempt nothing else may be the cause.
    lease: '1500ms',
    maxAttempts,
    backoff: { initial: 5, max: 20 },
  })
  const keys = Array.from({ length: messages }, (_, place) => keyAt(place, poisonAt))
  await tm.publishBatch(
    TOPIC,
    keys.map(key => ({ key })),
  )
  let deaths = 0
  for (; ; deaths++) {
    const settings = {
      url: database.url,
      topic: TOPIC,
      group: GROUP,
      journal,
      concurrency,
      batchSize: batchSize ?? undefined,
      bystander,
    }
    await using script = spawn(store, 'poisoned-group', [JSON.stringify(settings)])
    assert.ok(deaths <= maxAttempts * poisonAt.length, `It was handled for the ${deaths + 1}th time`)
    if (!(await isDrainedBefore(script.exited, tm))) continue
    script.send({ stop: true })
    assert.deepEqual(await script.exited, { code: 0, signal: null })
    const deadLetters = await allDeadLetters(tm, TOPIC, GROUP)
    const others = await allDeadLetters(tm, TOPIC, BYSTANDER)
    return { deaths, entries: readJournal<HandlerEntry>(journal), deadLetters, others }
  }
}

/** False if the process was killed first. */
async function isDrainedBefore(exited: Promise<{ signal: string | null }>, tm: Tidemark): Promise<boolean> {
  let signal: string | null | undefined
  exited.then(exit => {
    signal = exit.signal
  })
  const outcome = await until(
    async () => {
      if (signal !== undefined) return { drained: false }
      const { groups } = await tm.admin.describeTopic(TOPIC)
      return (
        groups.length > 0 &&
        groups.every(each => each.backlog + each.inFlight + each.retries === 0) && { drained: true }
      )
    },
    { what: 'the group to die or to be done', timeout: 60_000 },
  )
  if (!outcome.drained) assert.equal(signal, 'SIGKILL')
  return outcome.drained
}

const keyAt = (place: number, poisonAt: readonly number[]): string =>
  `${poisonAt.includes(place) ? 'poison' : 'neighbour'}-${String(place).padStart(3, '0')}`

const neighbours = (messages: number, poisonAt: readonly number[]): string[] =>
  Array.from({ length: messages }, (_, place) => keyAt(place, poisonAt)).filter(key => !key.startsWith('poison'))

const finishedKeys = (entries: readonly HandlerEntry[]): string[] =>
  [...new Set(entries.filter(({ kind }) => kind === 'finished').map(({ key }) => key))].sort()

const attemptsAt = (entries: readonly HandlerEntry[], wanted: string): number[] =>
  entries.filter(({ kind, key }) => kind === 'started' && key === wanted).map(({ attempt }) => attempt)

const keyOf = ({ payload }: DeadLetterMessage): string => JSON.parse(String(payload)).key
