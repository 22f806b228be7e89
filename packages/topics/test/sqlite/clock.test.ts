import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { ClockError, type OpenOptions, open, type Tidemark } from 'tidemark'
import { temporaryFolder } from '../../../../testing/databases.ts'
import { spawnScript } from '../../../../testing/processes.ts'
import { until } from '../../../../testing/until.ts'
import { consume, eventsOf, range, receive } from '../../src/conformance/consuming.ts'
import { SILENT } from '../conformance/stores.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const MONTH = 31 * DAY
const OFF = ['TIDEMARK_CLOCK', 'TIDEMARK_CLOCK', 'TIDEMARK_CLOCK']

type Bench = AsyncDisposable & {
  readonly url: string
  open(options?: OpenOptions): Promise<Tidemark>
  sql(statement: string): Record<string, unknown>[]
  /** Runs in a process whose wall clock is so far ahead. */
  elsewhere(aheadMs: number, what: 'clean' | 'publish' | 'claim' | 'fail'): Promise<Record<string, unknown>>
}

function bench(): Bench {
  const folder = temporaryFolder()
  const path = join(folder.path, 'app.db')
  const url = `sqlite:${path}`
  const opened: Tidemark[] = []
  return {
    url,
    async open(options) {
      const tm = await open(url, { logger: SILENT, maintenance: false, ...options })
      opened.push(tm)
      return tm
    },
    sql(statement) {
      using db = new DatabaseSync(path, { timeout: 5_000 })
      return db.prepare(statement).all()
    },
    async elsewhere(aheadMs, what) {
      const script = spawnScript(new URL('scripts/wrong-clock.ts', import.meta.url), [url, String(aheadMs), what])
      await script.exited
      assert.ok(script.lines[0], script.errorLines.join('\n'))
      return JSON.parse(script.lines[0])
    },
    async [Symbol.asyncDispose]() {
      for (const tm of opened) await tm.close()
      folder[Symbol.dispose]()
    },
  }
}

const EVENTS = {
  semantics: 'pub-sub',
  retention: '1h',
  maxRetention: '30d',
  lease: '1s',
  maxAttempts: 5,
} as const

/** A topic with undelivered messages of a live group. */
async function waiting(tm: Tidemark): Promise<void> {
  await tm.configureTopic('work', EVENTS)
  await tm.reader('work', { group: 'g' }).ready()
  await tm.publishBatch('work', range(1, 100))
}

/** Sets this process's wall clock, for as long as the test uses it. */
function wallClock(): Disposable & { aheadMs: number } {
  const { now } = Date
  const clock = {
    aheadMs: 0,
    [Symbol.dispose]: () => {
      Date.now = now
    },
  }
  Date.now = () => now() + clock.aheadMs
  return clock
}

describe('a process whose clock is a month ahead', () => {
  it('refuses to remove anything, reports it, and is not healthy', async () => {
    await using bed = bench()
    const tm = await bed.open()
    await waiting(tm)
    assert.deepEqual(await bed.elsewhere(MONTH, 'clean'), {
      codes: OFF,
      healthy: false,
      ok: false,
      hours: MONTH / HOUR,
      warnings: [`off by ${MONTH / HOUR} h`],
    })
    assert.deepEqual(await consume(tm.reader('work', { group: 'g' }), 100), range(1, 100))
  })

  it('refuses even if it is alone with the file', async () => {
    await using bed = bench()
    const tm = await bed.open()
    await waiting(tm)
    await tm.close()
    assert.deepEqual((await bed.elsewhere(MONTH, 'clean')).codes, OFF)
    assert.deepEqual(await consume((await bed.open()).reader('work', { group: 'g' }), 100), range(1, 100))
  })

  it('does not keep its claims longer than others', async () => {
    await using bed = bench()
    const tm = await bed.open()
    await waiting(tm)
    const { payload, at } = await bed.elsewhere(MONTH, 'claim')
    assert.equal(payload, 1)
    assert.ok(Math.abs(Number(at) - Date.now()) < HOUR)
    const reader = tm.reader('work', { group: 'g', batchSize: 100 })
    const taken = new Map<unknown, number>()
    await until(
      async () => {
        const delivery = await reader.poll(100)
        if (delivery) taken.set(delivery.payload, delivery.version)
        await delivery?.ack()
        return taken.get(1)
      },
      { what: 'its message to be taken over' },
    )
    assert.equal(taken.get(1), 2)
  })

  it('lets a retry wait as long as it says', async () => {
    await using bed = bench()
    const tm = await bed.open()
    await tm.configureTopic('work', EVENTS)
    await tm.reader('work', { group: 'g' }).ready()
    await tm.publish('work', 'again')
    await bed.elsewhere(MONTH, 'fail')
    assert.equal((await receive(tm.reader('work', { group: 'g' }))).attempt, 2)
  })

  it('is a month ahead of the file that it created itself, once others see it', async () => {
    await using bed = bench()
    await bed.elsewhere(MONTH, 'publish')
    const tm = await bed.open()
    const { healthy, clock } = await tm.admin.health()
    assert.deepEqual([healthy, clock?.ok, Math.round((clock?.offsetMs ?? 0) / DAY)], [false, false, -31])
    assert.deepEqual(await consume(tm.reader('work'), 3), [1, 2, 3])
  })
})

describe('a process whose clock is a month behind', () => {
  it('publishes messages with the right age', async () => {
    await using bed = bench()
    const tm = await bed.open()
    await tm.configureTopic('work', EVENTS)
    await tm.reader('work', { group: 'g' }).ready()
    await bed.elsewhere(-MONTH, 'publish')
    assert.deepEqual(await tm.admin.jobs.messages.runOnce(), { removed: 0, partitionsDropped: 0, lost: 0, failed: 0 })
    assert.deepEqual(await consume(tm.reader('work', { group: 'g' }), 3), [1, 2, 3])
  })

  it('created the file: its messages are not a month old when the file follows the right clock', async () => {
    await using bed = bench()
    await bed.elsewhere(-MONTH, 'publish')
    const tm = await bed.open()
    await tm.configureTopic('work', { retention: '1h', maxRetention: '30d' })
    await assert.rejects(tm.admin.jobs.messages.runOnce(), ClockError)
    confirm(bed)
    await until(async () => (await tm.admin.health()).clock?.ok, { what: 'the file to follow' })
    const { removed, lost } = await tm.admin.jobs.messages.runOnce()
    assert.deepEqual([removed, lost], [0, 0])
    const { messageId } = await tm.publish('work', 4)
    const [newest] = (await tm.admin.browse('work', { order: 'newest-first', limit: 1 })).messages
    assert.equal(newest?.messageId, messageId)
    assert.ok(Math.abs(Number(newest?.createdAt.getTime()) - Date.now()) < HOUR)
    assert.deepEqual(await consume(tm.reader('work'), 4), [1, 2, 3, 4])
  })
})

/** As if no process had agreed with the file's clock for long. */
function confirm(bed: Bench): void {
  bed.sql('update tidemark_clock set off_since = off_since - 700000, agreed_uptime = agreed_uptime - 700000')
}

describe('a clock that jumps', () => {
  it('an hour forward and back: leases and retries wait no longer', async () => {
    await using bed = bench()
    using clock = wallClock()
    const tm = await bed.open()
    const [off, right] = [eventsOf(tm, 'clock-off'), eventsOf(tm, 'clock-right')]
    await tm.configureTopic('work', { lease: '300ms', maxAttempts: 5 })
    const reader = tm.reader('work', { batchSize: 1 })
    await tm.publishBatch('work', ['retried', 'abandoned'])
    clock.aheadMs = HOUR
    assert.equal((await tm.admin.health()).clock?.ok, false)
    await (await receive(reader)).nack('later', { delay: '100ms' })
    await receive(reader)
    clock.aheadMs = 0
    assert.equal((await tm.admin.health()).clock?.ok, true)
    assert.deepEqual([off.length, right.length], [1, 1])
    const again = [await receive(reader), await receive(reader)]
    assert.deepEqual(again.map(({ payload, attempt }) => [payload, attempt]).sort(), [
      ['abandoned', 2],
      ['retried', 2],
    ])
  })

  it('far and permanently: the file follows when nobody disagrees, and pending times keep their duration', async () => {
    await using bed = bench()
    using clock = wallClock()
    const tm = await bed.open()
    await tm.configureTopic('work', { ...EVENTS, lease: '1h' })
    const reader = await tm.reader('work', { group: 'g' }).ready()
    await tm.publishBatch('work', ['held', 'later', 'waiting'])
    const held = await receive(reader)
    await (await receive(reader)).nack('later', { delay: '1h' })
    await tm.admin.jobs.subscriptions.runOnce()
    clock.aheadMs = MONTH
    assert.equal((await tm.admin.health()).clock?.ok, false)
    confirm(bed)
    const { clock: followed, cleanUp } = await tm.admin.health()
    assert.deepEqual([followed?.ok, cleanUp.overdue], [true, false])
    const { succeededAt } = (await tm.admin.stats({ maxAge: 0 })).jobs.subscriptions ?? {}
    assert.ok(succeededAt && Math.abs(Date.now() - succeededAt.getTime()) < HOUR)
    const jobs = await Promise.all([tm.admin.jobs.messages.runOnce(), tm.admin.jobs['dead-groups'].runOnce()])
    assert.deepEqual([jobs[0].removed, jobs[0].lost, jobs[1].missed, jobs[1].dead], [0, 0, 0, 0])
    const [group] = await tm.admin.groups('work')
    assert.ok(group && group.lagMessages === 1 && group.lagMs < HOUR, `a lag of ${group?.lagMs} ms`)
    assert.deepEqual((await tm.admin.health({ stuckAfter: '1h' })).stuck, [])
    assert.equal((await receive(reader)).payload, 'waiting')
    assert.equal(await reader.poll(0), null)
    await held.ack()
    const [row] = bed.sql('select max(due_at) as due from tidemark_retry')
    assert.ok(Math.abs(Number(row?.due) - Date.now() - HOUR) < HOUR / 2)
  })

  it('is not followed while another process agrees with the file', async () => {
    await using bed = bench()
    const tm = await bed.open()
    await waiting(tm)
    await bed.elsewhere(MONTH, 'clean')
    bed.sql('update tidemark_clock set off_since = off_since - 700000')
    assert.deepEqual((await bed.elsewhere(MONTH, 'clean')).codes, OFF)
  })

  it('back permanently, when the file follows: nothing waits longer', async () => {
    await using bed = bench()
    using clock = wallClock()
    clock.aheadMs = MONTH
    const tm = await bed.open()
    await tm.configureTopic('work', { lease: '1s', maxAttempts: 5 })
    await tm.publish('work', 'abandoned')
    const reader = tm.reader('work')
    await receive(reader)
    clock.aheadMs = 0
    assert.equal((await tm.admin.health()).clock?.ok, false)
    confirm(bed)
    assert.equal((await tm.admin.health()).clock?.ok, true)
    assert.equal((await receive(reader)).attempt, 2)
    assert.equal((await tm.publish('work', 'next')).id, 2)
  })
})

describe('a clock that is wrong for long and is set right', () => {
  it('leaves earlier messages at their true age', async () => {
    await using bed = bench()
    using clock = wallClock()
    const tm = await bed.open()
    await waiting(tm)
    await consume(tm.reader('work', { group: 'g' }), 100)
    for (const aheadMs of [MONTH, 0]) {
      clock.aheadMs = aheadMs
      assert.equal((await tm.admin.health()).clock?.ok, false)
      confirm(bed)
      assert.equal((await tm.admin.health()).clock?.ok, true)
    }
    assert.equal((await tm.admin.jobs.messages.runOnce()).removed, 0)
    bed.sql(`update tidemark_log_1 set created_at = created_at - ${2 * HOUR}`)
    assert.equal((await tm.admin.jobs.messages.runOnce()).removed, 100)
  })

  it('reports a group whose retries have waited for long, before and after', async () => {
    await using bed = bench()
    using clock = wallClock()
    const tm = await bed.open()
    await tm.configureTopic('work', { ...EVENTS, zombieTtl: '1h' })
    const reader = await tm.reader('work', { group: 'g' }).ready()
    await tm.publish('work', 1)
    await (await receive(reader)).nack('no', { delay: '1h' })
    bed.sql(`update tidemark_retry set due_at = due_at - ${5 * HOUR}`)
    bed.sql(`update tidemark_subscription set moved_at = moved_at - ${5 * HOUR}, status_at = status_at - ${5 * HOUR}`)
    const zombies = async () => (await tm.admin.health()).zombies.map(({ group }) => group)
    assert.deepEqual(await zombies(), ['g'])
    clock.aheadMs = MONTH
    await tm.admin.health()
    confirm(bed)
    assert.equal((await tm.admin.health()).clock?.ok, true)
    assert.deepEqual(await zombies(), ['g'])
  })
})

describe('a machine that is restarted', () => {
  it('trusts its clock, but removes nothing at first if much time has passed', async () => {
    await using bed = bench()
    const tm = await bed.open()
    await waiting(tm)
    await tm.close()
    bed.sql(`update tidemark_clock set boot = 'before', wall = wall - ${MONTH}`)
    bed.sql(`update tidemark_log_1 set created_at = created_at - ${MONTH}`)
    const next = await bed.open()
    assert.equal((await next.admin.health()).clock?.ok, true)
    await assert.rejects(next.admin.jobs.messages.runOnce(), ClockError)
    bed.sql('update tidemark_clock set trial_until = 0')
    assert.equal((await next.admin.jobs.messages.runOnce()).removed, 100)
  })

  it('never goes back, if its clock does', async () => {
    await using bed = bench()
    await (await bed.open()).close()
    bed.sql(`update tidemark_clock set boot = 'before', wall = wall + ${DAY}`)
    const tm = await bed.open()
    const { clock } = await tm.admin.health()
    assert.deepEqual([clock?.ok, Math.round((clock?.offsetMs ?? 0) / HOUR)], [false, -24])
  })

  it('gives no message a createdAt before that of an earlier one', async () => {
    await using bed = bench()
    const tm = await bed.open({ autoCreate: true })
    await tm.publish('work', 1)
    bed.sql(`update tidemark_clock set wall = wall - ${HOUR}`)
    await tm.publish('work', 2)
    bed.sql(`update tidemark_clock set uptime = uptime + ${HOUR}`)
    await tm.publish('work', 3)
    const times = (await tm.admin.browse('work')).messages.map(({ createdAt }) => createdAt.getTime())
    assert.equal(times.length, 3)
    assert.deepEqual(times, times.toSorted())
    // The clock itself stands still rather than going back, also for a topic without earlier messages.
    await tm.publish('other', 4)
    const [first] = (await tm.admin.browse('other')).messages
    assert.ok(Date.now() - (first?.createdAt.getTime() ?? 0) < 1.5 * HOUR)
    assert.ok(Math.abs((await tm.admin.health()).clock?.offsetMs ?? 0) < 1.5 * HOUR)
  })
})
