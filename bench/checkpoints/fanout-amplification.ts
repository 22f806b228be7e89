import type { Tracking } from 'tidemark'
import { judgeLoadTest, runLoadTest } from './fanout/load-test.ts'
import type { Checkpoint } from './frame/checkpoint.ts'
import { diskCapacity } from './postgres/disk-capacity.ts'
import { openSession } from './postgres/session.ts'
import { sampledStatements } from './postgres/statement-durations.ts'

export type LoadTest = {
  readonly id: string
  readonly tracking: Tracking
  readonly groups: number
  readonly perSecond: number
}

/** The specification's test matrix. */
const MATRIX: readonly LoadTest[] = [
  { id: 'LT-1', tracking: 'reference', groups: 4, perSecond: 10_000 },
  { id: 'LT-2', tracking: 'reference', groups: 8, perSecond: 10_000 },
  { id: 'LT-3', tracking: 'reference', groups: 16, perSecond: 10_000 },
  { id: 'LT-4', tracking: 'reference', groups: 32, perSecond: 10_000 },
  { id: 'LT-5', tracking: 'offset', groups: 16, perSecond: 10_000 },
  { id: 'LT-6', tracking: 'offset', groups: 64, perSecond: 10_000 },
  { id: 'LT-7', tracking: 'offset', groups: 100, perSecond: 30_000 },
]
/** A 32-core server of the specification against the 2 to 4 cores that a scaled run is for. */
const SCALED_RATE = 1 / 20

export const fanoutAmplification: Checkpoint = {
  name: 'fanout-amplification',
  about: 'LT-1 to LT-7: 4 to 100 groups at fixed rates: bloat of every table, WAL, clean-up rate, claim latency',
  engines: ['postgres'],
  seconds: { scaled: 170, full: MATRIX.length * 4_500 },
  async run(stage) {
    const database = await stage.database({
      settings: [
        'max_connections=300',
        ...sampledStatements(stage.pick(0.5, 0.01)),
        ...stage.pick(['autovacuum_naptime=2s'], []),
      ],
    })
    stage.phase('measuring the disk')
    const diskMBps = diskCapacity(database.folder)
    await using client = await openSession(database.url)
    const results = []
    for (const each of MATRIX) {
      const name = each.id.toLowerCase().replace('-', '_')
      await client.query(`create database ${name}`)
      const url = new URL(database.url)
      url.pathname = name
      const test = { ...each, perSecond: Math.round(each.perSecond * stage.pick(SCALED_RATE, 1)) }
      results.push(await runLoadTest(stage, test, { url: url.href, name, dataDir: database.folder }))
      await client.query(`drop database ${name} with (force)`)
    }
    return {
      criteria: results.flatMap(result => judgeLoadTest(result, diskMBps)),
      figures: { diskMBps, results },
      remarks: [
        `Rates: ${stage.pick(`a twentieth of the specification's, for a machine of a few cores`, "the specification's")}. The disk takes ${diskMBps.toFixed(0)} MB/s in sequence.`,
        'LT-4 is expected to fail by the specification, which counts per message in the payload row. Here a page is one statement on a narrow table, so it is judged like the others.',
      ],
    }
  },
}
