import { temporaryFolder } from '../../testing/folders.ts'
import { monotonicMs } from '../topics/monotonic.ts'
import type { Checkpoint } from './frame/checkpoint.ts'
import { atMost, holds } from './frame/criterion.ts'
import { Consumers } from './load/consumers.ts'
import { readRecords } from './load/delivery-record.ts'
import { Publisher } from './load/publisher.ts'
import { openQuietly } from './load/quiet.ts'
import { InsertProbe } from './postgres/insert-probe.ts'

const TOPIC = 'orders.events'
const GROUP = 'workers'
const CONSUMERS = 100
const LEASE_SECONDS = 5

/** All compete in one group: the worst case for its subscription's row. */
export const restartStorm: Checkpoint = {
  name: 'restart-storm',
  about: '100 consumers of one group are killed and started again at once, under load',
  engines: ['postgres', 'sqlite'],
  seconds: { scaled: 90, full: 900 },
  async run(stage) {
    const perSecond = stage.pick(500, 5_000)
    const processes = stage.pick(10, 100)
    const database = await stage.database({ settings: ['max_connections=500'] })
    const { url } = database
    await using tidemark = await openQuietly(url)
    await tidemark.configureTopic(TOPIC, { semantics: 'pub-sub', lease: `${LEASE_SECONDS}s`, backoff: { initial: 0 } })
    using folder = temporaryFolder()
    await using ended = new AsyncDisposableStack()
    const storm = async (): Promise<Consumers[]> => {
      const all = Array.from({ length: processes }, () =>
        ended.use(
          new Consumers({
            url,
            maintenance: false,
            ...(stage.engine === 'postgres' && { poolSize: 3 }),
            subscriptions: [
              { topic: TOPIC, group: GROUP, consumers: CONSUMERS / processes, batchSize: 50, record: folder.path },
            ],
          }),
        ),
      )
      await Promise.all(all.map(each => each.started))
      return all
    }
    stage.phase(`starting ${CONSUMERS} consumers in ${processes} processes`)
    const first = await storm()
    await using publisher = new Publisher({ url, topic: TOPIC, perSecond })
    await publisher.started
    await using probe = stage.engine === 'postgres' ? new InsertProbe(url) : undefined
    const groupNow = async () => (await tidemark.admin.groups(TOPIC)).find(({ group }) => group === GROUP)
    const isLevel = async (): Promise<boolean> => ((await groupNow())?.lagMs ?? 0) < 1_000

    stage.phase('control: all at work')
    await stage.pause(stage.pick(3, 30))
    await stage.within(30, isLevel)
    const controlFrom = monotonicMs()
    await stage.pause(stage.pick(10, 120))
    const stormFrom = monotonicMs()
    stage.phase(`killing ${CONSUMERS} consumers and starting them again at once`)
    for (const each of first) each.kill('SIGKILL')
    await Promise.all(first.map(each => each.ended()))
    const second = await storm()
    const startedAt = monotonicMs()
    const sumOf = (): number => second.reduce((sum, each) => sum + each.delivered(GROUP), 0)
    stage.phase('catching up')
    const level = await stage.within(stage.pick(60, 300), async () => sumOf() > 0 && (await isLevel()))
    const stormTo = monotonicMs()
    const published = await publisher.stop()
    stage.phase('draining')
    const drained = await stage.within(stage.pick(60, 120), async () => {
      const now = await groupNow()
      return now !== undefined && now.lagMessages + now.inFlight + now.retries === 0
    })
    const end = await groupNow()
    const { distinct, deliveries } = readRecords(folder.path)
    const shares = second.map(each => each.delivered(GROUP))
    const idle = shares.filter(share => share === 0).length
    const errors = second.flatMap(each => each.errors)
    const ratios = publishRatios(publisher, probe, controlFrom, stormFrom, stormTo)
    return {
      criteria: [
        atMost(stage.pick(30, 60), {
          name: 'caught up after the restart: lag below a second',
          value: level,
          unit: 's',
          note: `after all processes had started, which took ${((startedAt - stormFrom) / 1_000).toFixed(1)} s; leases of the killed run out after ${LEASE_SECONDS} s`,
        }),
        holds(drained !== null && end?.deadLetters === 0 && distinct === published, {
          name: 'nothing lost, nothing stuck, nothing dead-lettered',
          figure: `${distinct} of ${published} messages handled, ${end?.deadLetters ?? '?'} dead letters`,
          note: `${deliveries - distinct} handled more than once, for those that the killed had claimed; each is recorded in a file by its handler`,
        }),
        holds(idle === 0, {
          name: 'every process gets work again',
          figure: `${idle} of ${processes} without`,
          limit: '0',
        }),
        holds(errors.length === 0, {
          name: 'no claim, settlement or heartbeat failed after the restart',
          figure: `${errors.length} errors`,
          limit: '0',
          ...(errors[0] && { note: errors[0] }),
        }),
        atMost(stage.engine === 'postgres' ? 3 : 10, {
          name: 'publishers: p95 during the storm, next to the control',
          value: ratios.value,
          unit: '×',
          note: ratios.note,
        }),
      ],
      figures: { shares, errors, published },
    }
  },
}

/** What the starting processes take of the machine slows a bare insert as well; on SQLite there is none to compare. */
function publishRatios(
  publisher: Publisher,
  probe: InsertProbe | undefined,
  controlFrom: number,
  stormFrom: number,
  stormTo: number,
): { value: number; note: string } {
  const [control, storm] = [
    publisher.durations.p95(controlFrom, stormFrom),
    publisher.durations.p95(stormFrom, stormTo),
  ]
  const times = `${storm.toFixed(1)} ms against ${control.toFixed(1)} ms`
  if (probe === undefined) return { value: storm / control, note: times }
  const [bareControl, bareStorm] = [
    probe.durations.p95(controlFrom, stormFrom),
    probe.durations.p95(stormFrom, stormTo),
  ]
  const bare = bareStorm / bareControl
  return {
    value: storm / control / Math.max(1, bare),
    note: `${times}; a bare insert beside it ${bareStorm.toFixed(1)} ms against ${bareControl.toFixed(1)} ms, which is divided out`,
  }
}
