import { open } from 'tidemark'
import { atMost, type Figure, figure } from '../../figure.ts'
import { ENGINES } from '../../suite.ts'
import type { Bench, BenchCase } from '../bench-case.ts'
import { consumeAll } from '../consume-all.ts'
import type { Writes } from '../engines/engine.ts'
import { fillTopic, PAGE } from '../log-filling.ts'

const MESSAGES = 50_000
const GROUPS = 16
const TOPIC = 'database-cost'
/** Ten rows a page of 1000: a row a message would be a hundred times as much. */
const ROWS_PER_MESSAGE = 0.01

export const databaseCost: BenchCase = {
  name: 'database-cost',
  about: 'what the database writes for each delivered message: per page, never per message',
  engines: ENGINES,
  async run(bench) {
    const messages = bench.size(MESSAGES)
    {
      await using tidemark = await open(bench.engine.url)
      await fillTopic(tidemark, TOPIC, messages)
      await bench.engine.gatherStatistics()
      // The first reader of new PostgreSQL rows leaves hint bits on their pages, whoever it is.
      await consumeAll(tidemark, { topic: TOPIC, messages, groups: 1, batchSize: PAGE })
    }
    const single = await writesOf(bench, messages, 1)
    const many = await writesOf(bench, messages, GROUPS)
    const log = many.logRows + single.logRows
    return [
      ...toFigures(bench, messages, single, many),
      figure({
        case: 'rows of the log written by drains',
        engine: bench.engine.name,
        ours: log,
        unit: 'rows',
        target: atMost(0, 'rows'),
      }),
    ]
  },
}

/** The statistics are complete once Tidemark is closed, so it is opened for each run. */
async function writesOf({ engine }: Bench, messages: number, groups: number): Promise<Writes> {
  await using counter = await engine.countWrites()
  {
    await using tidemark = await open(engine.url)
    await consumeAll(tidemark, { topic: TOPIC, messages, groups, batchSize: PAGE })
  }
  return await counter.read()
}

function toFigures({ engine }: Bench, messages: number, single: Writes, many: Writes): Figure[] {
  const measured = { engine: engine.name, note: 'raw: 1 group; batchSize 1000' } as const
  return [
    figure({
      case: `rows written, ${GROUPS} groups`,
      ...measured,
      ours: many.groupRows / (messages * GROUPS),
      raw: single.groupRows / messages,
      unit: 'rows/msg',
      target: atMost(ROWS_PER_MESSAGE, 'rows/msg'),
    }),
    figure({
      case: `WAL written, ${GROUPS} groups`,
      ...measured,
      ours: many.walBytes / (messages * GROUPS),
      raw: single.walBytes / messages,
      unit: 'B/msg',
    }),
  ]
}
