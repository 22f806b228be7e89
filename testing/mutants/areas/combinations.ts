/** Defects that show only where two features meet, on a second attempt, or behind a first line of defence. */
import type { Area, Mutant } from '../mutant.ts'

const TOPICS = 'packages/topics/src'
const CONSUME = `${TOPICS}/consume`
const SQLITE = `${TOPICS}/stores/sqlite`
const POSTGRES = `${TOPICS}/stores/postgres/functions`
const PIPELINE = 'packages/pipeline/src'

const reading: Mutant[] = [
  {
    name: 'an aborted poll keeps the rest of its page',
    file: `${CONSUME}/reader.ts`,
    find: 'if (given?.aborted) this.#releaseBuffer()',
    replace: '',
    tests: ['conformance/readers'],
  },
  {
    name: 'an aborted poll keeps the message that it received',
    file: `${CONSUME}/reader.ts`,
    find: 'else if (delivery !== null) this.#takeBack(delivery)',
    replace: '',
    tests: ['conformance/readers'],
  },
  {
    name: 'a group that stops keeps what its schema has not answered',
    file: `${CONSUME}/group-run.ts`,
    find: '    this.#dispatcher.releaseChecked()\n',
    replace: '',
    tests: ['conformance/stopping'],
  },
  {
    name: 'a reader that closes keeps what its schema has not answered',
    file: `${CONSUME}/reader.ts`,
    find: '    this.#releaseChecked()\n    // An unresponsive',
    replace: '    // An unresponsive',
    tests: ['conformance/readers'],
  },
  {
    name: 'a pull that was aborted keeps what its schema answers later',
    file: `${CONSUME}/pull/puller.ts`,
    find: '    if (signal.aborted) takeBack(held, payloads)\n',
    replace: '',
    tests: ['conformance/pulling'],
  },
  {
    name: 'a signal is aborted by a timer that fires early',
    file: `${CONSUME}/held-lease.ts`,
    find: 'if (this.expired) this.abort(this.staleError(0))',
    replace: 'if (this.deadline > 0) this.abort(this.staleError(0))',
    tests: ['unit/held-lease'],
  },
  {
    name: 'a buffered message whose lease has expired is delivered',
    file: `${CONSUME}/reader.ts`,
    find: 'if (raw === undefined || held.expired) return undefined',
    replace: 'if (raw === undefined) return undefined',
    tests: ['conformance/readers', 'conformance/leases'],
  },
  {
    name: 'a reader settles the delivery of another reader',
    file: `${CONSUME}/reader.ts`,
    find: 'if (delivery instanceof LeasedDelivery && delivery.held.owner === this.#owner) return delivery',
    replace: 'if (delivery instanceof LeasedDelivery) return delivery',
    tests: ['conformance/readers'],
  },
  {
    name: 'an ack of a delivery that was given back succeeds',
    file: `${CONSUME}/delivery.ts`,
    find: '(state === SLOT.stale || state === SLOT.returned)',
    replace: '(state === SLOT.stale)',
    tests: ['conformance/readers', 'conformance/stopping', 'conformance/settling'],
  },
]

const groups: Mutant[] = [
  {
    name: 'a claimer that may not take suspects is not woken when it may',
    file: `${CONSUME}/isolation.ts`,
    find: "if (held === null && waiting === 'shared') this.#denied.add(claimant)",
    replace: '',
    tests: ['unit/isolation', 'conformance/suspects'],
  },
  {
    name: 'suspects alone never give way to ordinary pages',
    file: `${CONSUME}/isolation.ts`,
    find: 'since !== undefined && now - since > TURN_MS',
    replace: 'since !== undefined && now - since > 1e9',
    tests: ['unit/isolation', 'conformance/suspects'],
  },
  {
    name: 'a wake-up between a look and the wait is lost',
    file: `${CONSUME}/wake-hub.ts`,
    find: 'if (this.#count !== seen || ms <= 0) return',
    replace: 'if (ms <= 0) return',
    tests: ['unit/wake-hub'],
  },
  {
    name: 'consumers are always woken in the same order',
    file: `${CONSUME}/wake-hub.ts`,
    find: 'served: () => this.#wakers.delete(waker) && this.#wakers.add(waker),',
    replace: 'served: () => undefined,',
    tests: ['unit/wake-hub', 'conformance/fair-sharing'],
  },
  {
    name: 'a refused settlement is never tried again',
    file: `${CONSUME}/settler.ts`,
    find: '      const timer = setTimeout(() => this.touch(held), RETRY.maxMs)\n      timer.unref()\n',
    replace: '',
    tests: ['conformance/tables'],
  },
  {
    name: 'released messages wait for the next look',
    file: `${CONSUME}/settler.ts`,
    find: 'if (released > 0 || nacks.length > 0) this.#wakeHub.wake(held.topic.id)',
    replace: '',
    tests: ['conformance/wake-ups', 'conformance/settling', 'conformance/stopping'],
  },
  {
    name: 'a group with one attempt per message claims ahead',
    file: `${CONSUME}/group-run.ts`,
    find: 'if (isSingleAttempt) return concurrency',
    replace: '',
    tests: ['conformance/suspects', 'conformance/poison'],
  },
  {
    name: 'a short lease gets a page of a second of work',
    file: `${CONSUME}/group-run.ts`,
    find: 'Math.min(WORK_PER_CLAIM_MS, leaseMs / 8)',
    replace: 'WORK_PER_CLAIM_MS',
    tests: ['conformance/group-lease', 'conformance/handlers', 'conformance/fair-sharing'],
  },
  {
    name: 'a dead group whose heartbeats fail hurries them',
    file: `${CONSUME}/heartbeat-sender.ts`,
    find: 'if (pulse === undefined || pulse.failures > 0) return',
    replace: 'if (pulse === undefined) return',
    tests: ['conformance/heartbeats', 'conformance/dead-groups', 'conformance/bits'],
  },
  {
    name: 'a stopped group without new counts stays among the consumers',
    file: `${CONSUME}/heartbeat-sender.ts`,
    find: 'if (pulse.processed + pulse.failed + pulse.filtered === 0 && !pulse.hasReported) return',
    replace: 'if (pulse.processed + pulse.failed + pulse.filtered === 0) return',
    tests: ['conformance/consumers'],
  },
  {
    name: 'a group dies under a pull that waits',
    file: `${CONSUME}/pull/pull-groups.ts`,
    find: 'else if (member.pulls === 0) void this.#leave(member)',
    replace: 'else void this.#leave(member)',
    tests: ['conformance/heartbeats'],
  },
  {
    name: 'a settlement that succeeds ends the outage of another',
    file: `${TOPICS}/observe/watched-store.ts`,
    find: '...(nacks.length === 0 ? [token] : []),',
    replace: "...(nacks.length === 0 ? [''] : []),",
    tests: ['conformance/refused-settlements'],
  },
  {
    name: 'a group waits for a backfill that its rate makes last',
    file: `${TOPICS}/backfill/backfill-runner.ts`,
    find: 'record.settings.maxPerSecond * AWAITED_S',
    replace: 'AWAITED_MESSAGES',
    tests: ['conformance/backfill'],
  },
]

const sqlite: Mutant[] = [
  {
    name: 'messages of a queue without a group are cleaned up',
    file: `${SQLITE}/clean-up.ts`,
    find: "if (keepMs === null || (config.semantics === 'queue' && groups.length === 0)) return 0",
    replace: 'if (keepMs === null) return 0',
    tests: ['conformance/clean-up', 'conformance/retention', 'conformance/zero-subscriptions'],
  },
  {
    name: 'tracked messages that no group required go with their retention',
    file: `${SQLITE}/clean-up.ts`,
    find: ' or required = 0 and id > ?4)`',
    replace: ' or required = 0 and id > ?4 and false)`',
    tests: ['conformance/bitmap-retention', 'conformance/reference-tracking', 'conformance/zero-subscriptions'],
  },
  {
    name: 'clean-up passes over a paused group',
    file: `${SQLITE}/clean-up.ts`,
    find: "topic_id = ? and status in ('ACTIVE', 'PAUSED')`",
    replace: "topic_id = ? and status = 'ACTIVE'`",
    tests: ['conformance/clean-up', 'conformance/retention'],
  },
  {
    name: 'what a dead group lost is counted at every return',
    file: `${SQLITE}/loss.ts`,
    find: "tx.prepare('update tidemark_subscription set lost_dead = 0 where id = ?').run(subscriptionId)",
    replace: '',
    tests: ['conformance/dead-group-loss'],
  },
  {
    name: 'a dead letter is redriven with the message that has its id now',
    file: `${SQLITE}/redrive.ts`,
    find: 'l.id = d.log_id and l.salt = d.salt',
    replace: 'l.id = d.log_id',
    tests: ['conformance/tables'],
  },
  {
    name: 'a redriven message counts as completed',
    file: `${SQLITE}/redrive.ts`,
    find: 'if (letter.bit !== null && hasTracking(tx, topic)) {',
    replace: 'if (letter.bit === -1 && hasTracking(tx, topic)) {',
    tests: [
      'conformance/completion',
      'conformance/admin-reference',
      'conformance/bits',
      'conformance/reference-tracking',
    ],
  },
  {
    name: 'a group that was reset does not get what it had done before it died',
    file: `${SQLITE}/reset-cursor.ts`,
    find: '  forgetDone(tx, subscription.id)\n',
    replace: '',
    tests: ['conformance/bits'],
  },
  {
    name: 'a topic with a running backfill is switched',
    file: `${SQLITE}/switch-tracking.ts`,
    find: '  if (running) throw BackfillError.whileSwitching(topic.name, running.group_name)\n',
    replace: '',
    tests: ['conformance/switching-tracking'],
  },
  {
    name: 'bits that were to be wiped are wiped from the next tracking',
    file: `${SQLITE}/switch-tracking.ts`,
    find: "  tx.prepare('delete from tidemark_bit_wipe where topic_id = ?').run(topic.id)\n",
    replace: '',
    tests: ['conformance/switching-tracking', 'conformance/bits'],
  },
  {
    name: 'a group that is back keeps its misses',
    file: `${SQLITE}/resurrect.ts`,
    find: 'misses = 0, missed_at = null, last_heartbeat_at',
    replace: 'last_heartbeat_at',
    tests: ['conformance/group-death', 'conformance/dead-groups'],
  },
  {
    name: 'retries keep their due time when the clock is set',
    file: `${SQLITE}/clock.ts`,
    find: "  ['tidemark_retry', 'due_at'],\n",
    replace: '',
    tests: ['sqlite/clock'],
  },
  {
    name: 'a lock of maintenance ends early when the clock is set',
    file: `${SQLITE}/clock.ts`,
    find: "  ['tidemark_job', 'locked_until', 'started_at', 'finished_at', 'succeeded_at'],\n",
    replace: '',
    tests: ['sqlite/clock'],
  },
  {
    name: 'a commit is covered by the sync that was under way',
    file: `${SQLITE}/wal-sync.ts`,
    find: '    this.#next ??= this.#unlessGivenUp(this.#afterCurrent())\n    return this.#next',
    replace:
      '    if (this.#current !== undefined && this.#next === undefined) return this.#current\n    this.#next ??= this.#unlessGivenUp(this.#afterCurrent())\n    return this.#next',
    tests: ['sqlite/durability', 'sqlite/failing-sync'],
  },
]

const postgres: Mutant[] = [
  {
    name: 'a partition that is needed again when the locks are held is dropped',
    file: `${POSTGRES}/clean-up.sql`,
    find: '  perform from tidemark.subscription as x where x.topic_id = p_topic order by x.id for no key update;\n  if not is_forced and not tidemark_fn.is_done(t, p) then\n    return;\n  end if;\n',
    replace: '  perform from tidemark.subscription as x where x.topic_id = p_topic order by x.id for no key update;\n',
    tests: ['conformance/clean-up', 'postgres/partition-life'],
  },
  {
    name: 'a partition is sealed while a transaction may still write to it',
    file: `${POSTGRES}/clean-up.sql`,
    find: 'if not found or not pg_snapshot_xmin(pg_current_snapshot()) > p.seal_xid then',
    replace: 'if not found then',
    tests: ['postgres/partition-life'],
  },
  {
    name: 'a dead group loses what was counted in an earlier epoch',
    file: `${POSTGRES}/clean-up.sql`,
    find: 'select case when p.unclaimed -> s.id::text -> 0 = to_jsonb(s.epoch) and s.status',
    replace: 'select case when p.unclaimed ? s.id::text and s.status',
    tests: ['conformance/dead-group-loss', 'postgres/partition-life'],
  },
  {
    name: 'a partition that a running backfill has not reached is dropped',
    file: `${POSTGRES}/clean-up.sql`,
    find: "        and (b.status = 'RUNNING' or b.cursor_id < b.checkpoint_id)\n    )\n    and not (t.config",
    replace: '        and b.cursor_id < b.checkpoint_id\n    )\n    and not (t.config',
    tests: ['conformance/bitmap-retention', 'conformance/backfill', 'conformance/clean-up', 'postgres/partition-life'],
  },
]

const pipeline: Mutant[] = [
  {
    name: 'a batch that was indexed before stays open in the ledger',
    file: `${PIPELINE}/services/indexing/batch-loop.ts`,
    find: 'if (!batch.isIndexed) await batch.complete()',
    replace: '',
    tests: ['pipeline/test/indexing', 'pipeline/test/ledger'],
  },
  {
    name: 'a batch that failed before shares a flush with others',
    file: `${PIPELINE}/services/indexing/batch-loop.ts`,
    find: 'const isAlone = batch.attempt > 1',
    replace: 'const isAlone = batch.attempt > 1e9',
    tests: ['pipeline/test/indexing'],
  },
  {
    name: 'a batch that was removed for its age is a failure',
    file: `${PIPELINE}/services/indexing/batch-loop.ts`,
    find: '        if (error instanceof BatchRemovedError) return await this.#passOver(held, error)\n',
    replace: '',
    tests: ['pipeline/test/indexing', 'pipeline/test/disk/keep'],
  },
  {
    name: 'a flush without the lost batch has none of the others',
    file: `${PIPELINE}/services/indexing/components/buffering.ts`,
    find: 'return new Taken(this.#slots.filter(({ held }) => held !== lost))',
    replace: 'return new Taken(this.#slots.filter(({ held }) => held === lost && !lost.isDropped))',
    tests: ['pipeline/test/indexing', 'pipeline/test/ledger'],
  },
  {
    name: 'a paused indexer slows the source',
    file: `${PIPELINE}/pace/source-pace.ts`,
    find: 'if (!isWorking || found === undefined ||',
    replace: 'if (found === undefined ||',
    tests: ['pipeline/test/pace'],
  },
]

const onSqlite = (mutants: Mutant[]): Mutant[] => mutants.map(mutant => ({ ...mutant, sqliteOnly: true }))

export const COMBINATIONS: Area = {
  name: 'combinations',
  mutants: [...onSqlite([...reading, ...groups, ...sqlite]), ...postgres, ...pipeline],
}
