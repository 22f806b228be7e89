import type { Area, Mutant } from '../mutant.ts'

const TOPICS = 'packages/topics/src'

const publish: Mutant[] = [
  {
    name: 'createdAt goes back with the clock',
    file: `${TOPICS}/stores/sqlite/publish.ts`,
    find: ', last_created_at)',
    replace: ', 0)',
    tests: ['sqlite/clock'],
  },
  {
    name: 'the clock that a publish reads goes back with the uptime',
    file: `${TOPICS}/stores/sqlite/clock.ts`,
    find: 'wall + max(0, ? - uptime)',
    replace: 'wall + ? - uptime',
    tests: ['sqlite/clock'],
  },
  {
    name: 'the clock of the file goes back with the uptime',
    file: `${TOPICS}/stores/sqlite/clock.ts`,
    find: 'wall + Math.max(0, uptimeMs() - uptime)',
    replace: 'wall + uptimeMs() - uptime',
    tests: ['sqlite/clock'],
  },
  {
    name: 'the clock of the file goes back with a restart',
    file: `${TOPICS}/stores/sqlite/clock.ts`,
    find: 'Math.max(wall, row.wall),',
    replace: 'wall,',
    tests: ['sqlite/clock'],
  },
  {
    name: 'a publish ignores the incarnation of the topic',
    file: `${TOPICS}/stores/sqlite/publish.ts`,
    find: 'from tidemark_topic where id = ? and uid = ?`),',
    replace: 'from tidemark_topic where id = ? and ? is not null`),',
    tests: ['conformance/incarnation'],
  },
  {
    name: 'a publish that takes its ids ignores the incarnation of the topic',
    file: `${TOPICS}/stores/sqlite/publish.ts`,
    find: 'where id = ? and uid = ? and config_version = ?',
    replace: 'where id = ? and ? is not null and config_version = ?',
    tests: ['conformance/incarnation'],
  },
  {
    name: 'a blocked publish counts a dead group',
    file: `${TOPICS}/stores/sqlite/publish.ts`,
    find: "where topic_id = ? and status in ('ACTIVE', 'PAUSED') limit 1",
    replace: "where topic_id = ? and status <> 'CANCELLED' limit 1",
    tests: ['conformance/zero-subscriptions'],
  },
  {
    name: 'a blocked publish does not count a paused group',
    file: `${TOPICS}/stores/sqlite/publish.ts`,
    find: "where topic_id = ? and status in ('ACTIVE', 'PAUSED') limit 1",
    replace: "where topic_id = ? and status = 'ACTIVE' limit 1",
    tests: ['conformance/zero-subscriptions'],
  },
  {
    name: 'a messageId twice in one batch is stored twice',
    file: `${TOPICS}/stores/sqlite/publish.ts`,
    find: 'within.get(messageId) ??\n',
    replace: '',
    tests: ['conformance/publishing', 'conformance/message-identity'],
  },
  {
    name: 'a messageId that Tidemark made is stored twice',
    file: `${TOPICS}/stores/sqlite/publish.ts`,
    find: 'findDerived(prepare, topic, messageId) ??\n',
    replace: '',
    tests: ['conformance/message-identity'],
  },
  {
    name: 'a publish of unknown outcome is tried again alone',
    file: `${TOPICS}/publish/group-commit.ts`,
    find: '[OutcomeUnknownError, DatabaseUnreachableError, DatabaseLockedError, DatabaseTimeoutError].some(',
    replace: '[DatabaseUnreachableError, DatabaseLockedError, DatabaseTimeoutError].some(',
    tests: ['sqlite/failing-sync', 'postgres/unknown-outcome'],
  },
  {
    name: 'one refused publish refuses its neighbours',
    file: `${TOPICS}/publish/group-commit.ts`,
    find: 'if (entries.length > 1 && !isForAll(error)) {',
    replace: 'if (entries.length > 1 && false) {',
    tests: ['conformance/refusing-databases', 'conformance/publishing', 'conformance/bad-input'],
  },
  {
    name: 'results of grouped publishes are mixed up',
    file: `${TOPICS}/publish/group-commit.ts`,
    find: '        from += messages.length\n',
    replace: '',
    tests: ['conformance/publishing'],
  },
  {
    name: 'an id that was handed out twice is not reported',
    file: `${TOPICS}/publish/group-commit.ts`,
    find: "if (first <= before) this.#instrumentation.emit('database-rewound'",
    replace: "if (first < 0) this.#instrumentation.emit('database-rewound'",
    tests: ['conformance/rewound', 'sqlite/restored'],
  },
  {
    name: 'a message of many bytes in few characters is not measured',
    file: `${TOPICS}/publish/outgoing.ts`,
    find: 'MESSAGE_BYTES + 3 * (payload.length',
    replace: 'MESSAGE_BYTES + (payload.length',
    tests: ['unit/outgoing', 'conformance/bad-input'],
  },
]

const errors: Mutant[] = [
  {
    name: 'a refused connection may have stored something',
    file: `${TOPICS}/stores/postgres/database-errors.ts`,
    find: '/^(ECONNREFUSED|ENOTFOUND',
    replace: '/^(ENOTFOUND',
    tests: ['unit/database-errors'],
  },
  {
    name: 'an error of the server leaves the outcome unknown',
    file: `${TOPICS}/stores/postgres/database-errors.ts`,
    find: 'return !isFromServer(error.cause)',
    replace: 'return true',
    tests: ['unit/database-errors', 'postgres/publishing'],
  },
  {
    name: 'a lost answer counts as a refusal',
    file: `${TOPICS}/stores/postgres/database-errors.ts`,
    find: 'if (error instanceof DatabaseUnreachableError) return isAnswerLost(error)',
    replace: 'if (error instanceof DatabaseUnreachableError) return false',
    tests: ['unit/database-errors', 'postgres/unknown-outcome'],
  },
  {
    name: 'a server that is shutting down is not unreachable',
    file: `${TOPICS}/stores/postgres/database-errors.ts`,
    find: "const UNREACHABLE = new Set(['57P01', ",
    replace: 'const UNREACHABLE = new Set([',
    tests: ['unit/database-errors', 'crash/server-restart'],
  },
  {
    name: 'a serialization failure is not repeated',
    file: `${TOPICS}/stores/postgres/database-errors.ts`,
    find: "['40P01', '40001'].includes(codeOf(error))",
    replace: "['40P01'].includes(codeOf(error))",
    tests: ['unit/database-errors'],
  },
  {
    name: 'a deadlock is not repeated',
    file: `${TOPICS}/stores/postgres/database-errors.ts`,
    find: "['40P01', '40001'].includes(codeOf(error))",
    replace: "['40001'].includes(codeOf(error))",
    tests: ['unit/database-errors'],
  },
  {
    name: 'a full disk is an ordinary error',
    file: `${TOPICS}/stores/postgres/database-errors.ts`,
    find: "const FULL = new Set(['53100', '53200'])",
    replace: "const FULL = new Set(['53200'])",
    tests: ['unit/database-errors', 'conformance/refusing-databases'],
  },
  {
    name: 'sqlite: a locked table is not busy',
    file: `${TOPICS}/stores/sqlite/sqlite-errors.ts`,
    find: 'return code === BUSY || code === LOCKED',
    replace: 'return code === BUSY',
    tests: ['unit/database-errors'],
  },
  {
    name: 'sqlite: a full disk is an ordinary error',
    file: `${TOPICS}/stores/sqlite/sqlite-errors.ts`,
    find: '    case FULL:\n      return new DatabaseFullError(path, error)\n',
    replace: '',
    tests: ['unit/database-errors', 'conformance/refusing-databases'],
  },
  {
    name: 'sqlite: extended result codes are unknown',
    file: `${TOPICS}/stores/sqlite/sqlite-errors.ts`,
    find: 'return code === undefined ? undefined : code & 0xff',
    replace: 'return code',
    tests: ['unit/database-errors', 'conformance/refusing-databases'],
  },
  {
    name: 'the caller’s mistake counts as an outage',
    file: `${TOPICS}/observe/outages.ts`,
    find: 'return thrown instanceof DatabaseError && !isRefusal',
    replace: 'return !isRefusal',
    tests: ['conformance/outages'],
  },
]

const maintenance: Mutant[] = [
  {
    name: 'a job runs although the clock is off',
    file: `${TOPICS}/maintenance/maintenance.ts`,
    find: 'if (refusal) throw refusal',
    replace: '',
    tests: ['conformance/clock-skew', 'sqlite/clock'],
  },
  {
    name: 'a job goes on after its lock was lost',
    file: `${TOPICS}/maintenance/maintenance.ts`,
    find: 'if (!(await this.#store.jobs.renew(job.name, { token, ttlMs }))) throw new JobBusyError(job.name)',
    replace: 'await this.#store.jobs.renew(job.name, { token, ttlMs })',
    tests: ['conformance/maintenance'],
  },
  {
    name: 'a job that failed keeps its lock',
    file: `${TOPICS}/maintenance/maintenance.ts`,
    find: 'await this.#store.jobs.unlock(job.name, token, { error: `${name}: ${message}` }).catch(() => undefined)',
    replace: 'void [name, message]',
    tests: ['unit/jobs'],
  },
  {
    name: 'one failing topic stops the clean-up of the others',
    file: `${TOPICS}/maintenance/message-clean-up.ts`,
    find: '        total.failed++\n',
    replace: '        throw error\n',
    tests: ['unit/jobs', 'conformance/maintenance'],
  },
  {
    name: 'a topic that was deleted meanwhile is a failure of the clean-up',
    file: `${TOPICS}/maintenance/message-clean-up.ts`,
    find: 'if (error instanceof TopicNotFoundError) continue\n',
    replace: '',
    tests: ['unit/jobs', 'conformance/clean-up'],
  },
  {
    name: 'zombies are moved on without being asked',
    file: `${TOPICS}/maintenance/subscription-clean-up.ts`,
    find: 'if (!topic.config.advanceZombies) return 0\n',
    replace: '',
    tests: ['conformance/zombies'],
  },
  {
    name: 'a group that is back when it is removed fails the job',
    file: `${TOPICS}/maintenance/subscription-clean-up.ts`,
    find: 'if (error instanceof InvalidTransitionError) return false\n',
    replace: '',
    tests: ['unit/jobs', 'conformance/maintenance'],
  },
  {
    name: 'a topic without groups is reported at every look',
    file: `${TOPICS}/maintenance/dead-groups.ts`,
    find: 'if (this.#unsubscribed.has(topic)) continue\n',
    replace: '',
    tests: ['conformance/dead-groups', 'conformance/zero-subscriptions'],
  },
  {
    name: 'a backfill fails for ever when the database is away',
    file: `${TOPICS}/backfill/backfill-runner.ts`,
    find: "if (error instanceof DatabaseError && error.code !== 'TIDEMARK_DATABASE') return 'RUNNING'\n",
    replace: '',
    tests: ['unit/jobs', 'conformance/backfill'],
  },
  {
    name: 'a stopped backfill keeps its lease',
    file: `${TOPICS}/backfill/backfill-runner.ts`,
    find: 'await store.backfills.runBatch(record.subscriptionId, { token, limit: 0, ttlMs: 0 })',
    replace: '',
    tests: ['conformance/backfill'],
  },
]

const payloads: Mutant[] = [
  {
    name: 'published bytes are shared with the caller',
    file: `${TOPICS}/payload/codec.ts`,
    find: 'return { payload: Uint8Array.from(value), type: BYTES }',
    replace: 'return { payload: value, type: BYTES }',
    tests: ['unit/codec', 'conformance/payloads'],
  },
  {
    name: 'bytes marked as JSON are delivered as bytes',
    file: `${TOPICS}/payload/codec.ts`,
    find: 'if (type === null) throw new DecodeError(`Message ${row.id} is marked as JSON but contains bytes`)',
    replace: 'if (type === null) return payload',
    tests: ['unit/codec', 'conformance/payloads'],
  },
  {
    name: 'an Any that is none is stored',
    file: `${TOPICS}/payload/codec.ts`,
    find: "if (typeof any.typeUrl !== 'string' || !(any.value instanceof Uint8Array)) {",
    replace: "if (typeof any.typeUrl !== 'string') {",
    tests: ['conformance/protobuf-payloads', 'conformance/payloads'],
  },
  {
    name: 'a messageId of another topic names a message here',
    file: `${TOPICS}/payload/message-id.ts`,
    find: 'return messageIdOf(uid, salt, id) === messageId ? { id, salt } : undefined',
    replace: 'return { id, salt }',
    tests: ['unit/message-id', 'conformance/message-identity'],
  },
  {
    name: 'a messageId of the next block repeats the last one’s digits',
    file: `${TOPICS}/payload/message-id.ts`,
    find: 'if (salt !== last.salt || uid !== last.uid || block !== last.block) {',
    replace: 'if (salt !== last.salt || uid !== last.uid) {',
    tests: ['unit/message-id'],
  },
  {
    name: 'an asynchronous filter accepts everything',
    file: `${TOPICS}/consume/selection.ts`,
    find: 'if (!isThenable(answer)) return Boolean(answer)',
    replace: 'return Boolean(answer)',
    tests: ['unit/selection', 'conformance/consumer-groups'],
  },
  {
    name: 'one key meets different members',
    file: `${TOPICS}/consume/selection.ts`,
    find: 'return eligible[hash(delivery.key ?? delivery.messageId) % eligible.length]',
    replace: 'return eligible[hash(delivery.messageId) % eligible.length]',
    tests: ['unit/selection', 'conformance/consumer-groups'],
  },
]

const onSqlite = (mutants: readonly Mutant[]): Mutant[] => mutants.map(mutant => ({ ...mutant, sqliteOnly: true }))

export const PUBLISHING: Area = { name: 'publish', mutants: onSqlite(publish) }
export const ERRORS: Area = { name: 'errors', mutants: errors }
export const MAINTENANCE: Area = { name: 'maintenance', mutants: onSqlite(maintenance) }
export const PAYLOADS: Area = { name: 'payload', mutants: onSqlite(payloads) }
