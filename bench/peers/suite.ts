import { type Figure, figure } from '../figure.ts'
import { interleave } from '../interleave.ts'
import { formatLine } from '../report/table.ts'
import type { Suite, SuiteOptions, SuiteResult } from '../suite.ts'
import type { BenchEngine } from '../topics/engines/engine.ts'
import { openPostgresEngine } from '../topics/engines/postgres.ts'
import { openSqliteEngine } from '../topics/engines/sqlite.ts'
import { CASES } from './cases.ts'
import type { Contender } from './contender.ts'
import { openBullMq } from './contenders/bullmq.ts'
import { openPgBoss } from './contenders/pg-boss.ts'
import { openRedisStreams } from './contenders/redis-streams.ts'
import { openTidemark } from './contenders/tidemark.ts'
import { installPeers } from './installed.ts'
import { redisVersion, startRedis } from './redis-server.ts'

const ROUNDS = 5
const QUICK_ROUNDS = 1

const REMARKS = [
  'The column of the raw limit has the peer’s figure; a ratio above 1 says that Tidemark does more a second, or, of a latency, waits longer.',
  'Everyone stores durably: PostgreSQL and SQLite with fsync, Redis with appendfsync always. pg-boss is on the same PostgreSQL server as Tidemark.',
  'pg-boss and BullMQ are job queues: a job is one consumer’s, so for four groups they store it four times.',
  'PostgreSQL is told to ANALYZE before each drain, as autovacuum would within a minute.',
  'Redis Streams are used through ioredis without a library on top: no retries, no dead letters, no expiry of a dead consumer’s messages.',
  'pg-boss is drained with fetch() and complete() of 1000, its fastest way; each of its queues has a table of its own and wakes its workers by NOTIFY.',
]

export const peers: Suite = {
  name: 'peers',
  about: 'the topics next to what else a program in TypeScript might take (installed when first asked for)',
  cases: CASES,
  run: runPeers,
}

async function runPeers(options: SuiteOptions): Promise<SuiteResult> {
  installPeers(options.progress)
  const redis = redisVersion()
  const figures: Figure[] = []
  const versions: Record<string, string> = {}
  for (const name of options.engines) {
    await using engine = name === 'sqlite' ? openSqliteEngine() : await openPostgresEngine()
    versions[name] = engine.version
    await using ours = await openTidemark(engine.url)
    if (name === 'postgres') {
      await using boss = await openPgBoss(engine.url)
      figures.push(...(await compare(engine, ours, boss, options)))
      versions[boss.name] = boss.version
    }
    if (redis === undefined) continue
    await using server = await startRedis(redis)
    versions.redis = redis
    for (const openPeer of [openBullMq, openRedisStreams]) {
      await using peer = await openPeer(server.port)
      figures.push(...(await compare(engine, ours, peer, options)))
      versions[peer.name] = peer.version
    }
  }
  const skipped =
    redis === undefined
      ? ['BullMQ and Redis Streams are left out: there is no redis-server here (a package of that name).']
      : []
  return { figures, versions, remarks: [...REMARKS, ...skipped] }
}

async function compare(
  engine: BenchEngine,
  ours: Contender,
  peer: Contender,
  { only, quick, progress }: SuiteOptions,
): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const each of CASES) {
    if (only !== undefined && !each.name.includes(only)) continue
    const messages = quick ? each.messages / 10 : each.messages
    let sample = 0
    const side = (contender: Contender) => async (): Promise<number> =>
      await each.measure(contender, {
        topic: `${each.name}-${peer.name.toLowerCase().replace(' ', '-')}-${++sample}`,
        messages,
        gatherStatistics: engine.gatherStatistics,
      })
    const { medians, samples } = await interleave(quick ? QUICK_ROUNDS : ROUNDS, { ours: side(ours), raw: side(peer) })
    const measured = { engine: engine.name, unit: each.unit, ...medians, samples, note: `next to ${peer.name}` }
    figures.push(figure({ case: each.name, ...measured }))
    progress(
      `${engine.name.padEnd(8)}  next to ${peer.name}: ${figures.at(-1) && formatLine(figures.at(-1) as Figure)}`,
    )
  }
  return figures
}
