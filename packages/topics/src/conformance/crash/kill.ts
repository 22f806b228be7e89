import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe } from 'node:test'
import type { Tidemark } from '../../index.ts'
import type { ConformanceStores } from '../conformance-store.ts'
import { it } from '../it.ts'
import { SeededRandom } from '../seeded-random.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { until } from '../until.ts'
import { findViolations } from './account.ts'
import { allDeadLetters } from './dead-letters.ts'
import { Fleet, type Post } from './fleet.ts'
import { type ConsumerEntry, type PublisherEntry, readJournal } from './journal.ts'

const TOPIC = 'events'
const GROUPS = ['email', 'billing']
const LEASE_MS = 500
/** How long it may take others to notice that a lease has expired. */
const LONGEST_SWEEP_MS = 1_250
const MAX_ATTEMPTS = 20
const KILLS = Number(process.env.TIDEMARK_TEST_RUNS || 3)
const SECONDS = Number(process.env.TIDEMARK_TEST_SECONDS || 0)

export function killedProcesses({ shared }: ConformanceStores): void {
  for (const store of shared) {
    describe(`processes killed with SIGKILL again and again, on ${store.name}`, () => {
      it('lose no message, invent none, and redeliver none after its ack', async t => {
        const random = new SeededRandom()
        await using database = await store.fresh()
        using folder = temporaryFolder()
        const tm = await database.open()
        await tm.configureTopic(TOPIC, {
          semantics: 'pub-sub',
          lease: LEASE_MS,
          maxAttempts: MAX_ATTEMPTS,
          backoff: { initial: 5, max: 20 },
        })
        const posts = postsOf(database.url, folder.path)
        await using fleet = new Fleet(store, random, posts)

        await random.named(async () => {
          const end = performance.now() + SECONDS * 1_000
          while (fleet.kills < KILLS || performance.now() < end) {
            await Promise.all([fleet.strike(), fleet.freeze('consumer', LEASE_MS + LONGEST_SWEEP_MS)])
          }
          await fleet.stop('publisher')
          await drained(tm)
          await fleet.stop('consumer')

          const published = readJournal<PublisherEntry>(journalOf(folder.path, 'publisher'))
          const records = await Promise.all(
            GROUPS.map(async group => ({
              group,
              entries: readJournal<ConsumerEntry>(journalOf(folder.path, group)),
              deadLetters: await allDeadLetters(tm, TOPIC, group),
            })),
          )
          t.diagnostic(summary(fleet, published, records))
          assert.deepEqual(findViolations(published, records, MAX_ATTEMPTS), [])
        })
      })
    })
  }
}

/** One publisher, and two consumers per group; the consumers of a group write to one journal. */
function postsOf(url: string, folder: string): Post[] {
  const consumers = GROUPS.flatMap(group =>
    [1, 6].map(batchSize => ({
      script: 'consumer',
      arguments: { url, topic: TOPIC, group, batchSize, journal: journalOf(folder, group) },
    })),
  )
  const publisher = { script: 'publisher', arguments: { url, topic: TOPIC, journal: journalOf(folder, 'publisher') } }
  return [publisher, ...consumers]
}

const journalOf = (folder: string, name: string): string => join(folder, `${name}.jsonl`)

async function drained(tm: Tidemark): Promise<void> {
  await until(
    async () => {
      const { groups } = await tm.admin.describeTopic(TOPIC)
      return groups.length === GROUPS.length && groups.every(each => each.backlog + each.inFlight + each.retries === 0)
    },
    { what: 'the groups to drain', timeout: 60_000 },
  )
}

function summary(
  { kills, freezes }: Fleet,
  published: readonly PublisherEntry[],
  records: readonly { readonly entries: readonly ConsumerEntry[]; readonly deadLetters: readonly unknown[] }[],
): string {
  const count = (kind: ConsumerEntry['kind']): number =>
    records.reduce((sum, { entries }) => sum + entries.filter(entry => entry.kind === kind).length, 0)
  const acknowledged = published.filter(entry => entry.kind === 'acknowledged').length
  const dead = records.reduce((sum, { deadLetters }) => sum + deadLetters.length, 0)
  return (
    `${kills} kills, ${freezes} freezes, ${acknowledged} publishes acknowledged; in ${records.length} groups ${count('delivered')} deliveries, ` +
    `${count('acked')} acks, ${count('stale')} stale, ${dead} dead letters`
  )
}
