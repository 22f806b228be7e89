import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { temporaryFolder } from '../../../../testing/databases.ts'
import { spawnScript } from '../../../../testing/processes.ts'
import { until } from '../../../../testing/until.ts'
import { type DeadLetterMessage, open, type Tidemark } from '../../src/index.ts'
import { allDeadLetters } from './dead-letters.ts'
import { ENGINES } from './engines.ts'
import { type HandlerEntry, readJournal } from './journal.ts'

const TOPIC = 'jobs'
const GROUP = 'workers'
const SCRIPT = new URL('scripts/poisoned-group.ts', import.meta.url)
const POISON_AT = 7
const BATCH_SIZE = 50

type Outcome = {
  readonly deaths: number
  readonly entries: readonly HandlerEntry[]
  readonly deadLetters: readonly DeadLetterMessage[]
}

for (const engine of ENGINES) {
  describe(`a message that kills whoever handles it, on ${engine.name}`, () => {
    for (const concurrency of [1, 5]) {
      it(`is a dead letter after its attempts, and takes no neighbour along (concurrency ${concurrency})`, async () => {
        const { deaths, entries, deadLetters } = await runPoisoned(engine.fresh, {
          maxAttempts: 3,
          concurrency,
          messages: 60,
        })
        assert.equal(deaths, 3)
        assert.deepEqual(deadLetters.map(keyOf), ['poison'])
        const [letter] = deadLetters
        assert.equal(letter?.attempts, 3)
        assert.equal(letter?.error.name, 'LeaseExpiredError')
        assert.deepEqual(
          letter?.history.map(({ attempt, name }) => ({ attempt, name })),
          [1, 2, 3].map(attempt => ({ attempt, name: 'LeaseExpiredError' })),
        )
        assert.deepEqual(attemptsAt(entries, 'poison'), [1, 2, 3])
        assert.deepEqual(finishedKeys(entries), neighbours(60))
      })
    }

    // Whatever its process had claimed and not settled shares the only attempt: its page, the one claimed ahead, and
    // what was finished and not yet acked.
    it('with a single attempt takes along what its process had in hand, and nothing else', async t => {
      const messages = 400
      const { deaths, entries, deadLetters } = await runPoisoned(engine.fresh, {
        maxAttempts: 1,
        concurrency: 1,
        messages,
      })
      assert.equal(deaths, 1)
      const dead = deadLetters.map(keyOf)
      assert.ok(dead.includes('poison'))
      assert.equal(new Set(dead).size, dead.length)
      assert.ok(deadLetters.every(({ attempts, error }) => attempts === 1 && error.name === 'LeaseExpiredError'))
      assert.deepEqual(
        entries.filter(({ attempt }) => attempt > 1),
        [],
      )
      // One that was finished but not yet acked is both.
      const ended = new Set([...finishedKeys(entries), ...dead])
      assert.deepEqual([...ended].sort(), [...neighbours(messages), 'poison'].sort())
      assert.ok(!dead.includes(neighbours(messages).at(-1) ?? ''))
      t.diagnostic(`${dead.length - 1} of ${messages - 1} neighbours died with it`)
    })
  })
}

/** Starts the group again each time it dies, until nothing is left. */
async function runPoisoned(
  fresh: (typeof ENGINES)[number]['fresh'],
  { maxAttempts, concurrency, messages }: { maxAttempts: number; concurrency: number; messages: number },
): Promise<Outcome> {
  await using store = await fresh()
  using folder = temporaryFolder()
  const journal = join(folder.path, 'handlers.jsonl')
  await using tm = await open(store.url)
  await tm.configureTopic(TOPIC, {
    semantics: 'pub-sub',
    lease: '400ms',
    maxAttempts,
    backoff: { initial: 5, max: 20 },
  })
  const keys = neighbours(messages)
  keys.splice(POISON_AT, 0, 'poison')
  await tm.publishBatch(
    TOPIC,
    keys.map(key => ({ key })),
  )
  let deaths = 0
  for (; ; deaths++) {
    const settings = { url: store.url, topic: TOPIC, group: GROUP, journal, concurrency, batchSize: BATCH_SIZE }
    await using script = spawnScript(SCRIPT, [JSON.stringify(settings)])
    assert.ok(deaths <= maxAttempts, `It was handled for the ${deaths + 1}th time`)
    if (!(await isDrainedBefore(script.exited, tm))) continue
    script.send({ stop: true })
    assert.deepEqual(await script.exited, { code: 0, signal: null })
    return { deaths, entries: readJournal<HandlerEntry>(journal), deadLetters: await allDeadLetters(tm, TOPIC, GROUP) }
  }
}

/** False where the process was killed first. */
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

const neighbours = (messages: number): string[] =>
  Array.from({ length: messages - 1 }, (_, index) => `neighbour-${String(index).padStart(3, '0')}`)

const finishedKeys = (entries: readonly HandlerEntry[]): string[] =>
  [...new Set(entries.filter(({ kind }) => kind === 'finished').map(({ key }) => key))].sort()

const attemptsAt = (entries: readonly HandlerEntry[], wanted: string): number[] =>
  entries.filter(({ kind, key }) => kind === 'started' && key === wanted).map(({ attempt }) => attempt)

const keyOf = ({ payload }: DeadLetterMessage): string => JSON.parse(String(payload)).key
