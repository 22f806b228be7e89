/** The groups of the store on NATS JetStream: one document each, which every operation changes. */
import type { Area, Mutant } from '../mutant.ts'

const JETSTREAM = 'packages/jetstream/src'
const GROUP = `${JETSTREAM}/group`
const TESTS = ['jetstream/test/races', 'jetstream/test/conformance']

const claims: Mutant[] = [
  {
    name: 'a claim that is sent again takes another page',
    file: `${GROUP}/claim.ts`,
    find: 'if (repeated !== undefined) return',
    replace: 'if (repeated === null) return',
    tests: TESTS,
  },
  {
    name: 'a claim ignores the incarnation of the subscription',
    file: `${GROUP}/claim.ts`,
    find: "if (document.status !== 'ACTIVE' || document.uid !== op.uid) return",
    replace: "if (document.status !== 'ACTIVE') return",
    tests: TESTS,
  },
  {
    name: 'a group that is not active claims',
    file: `${GROUP}/claim.ts`,
    find: "if (document.status !== 'ACTIVE' || document.uid !== op.uid) return",
    replace: 'if (document.uid !== op.uid) return',
    tests: TESTS,
  },
  {
    name: 'a cursor ahead of the log is not noticed',
    file: `${GROUP}/claim.ts`,
    find: 'return seq > facts.knownSeq && seq > facts.lastSeq()',
    replace: 'return seq < 0',
    tests: TESTS,
  },
  {
    name: 'a claimed retry keeps its version',
    file: `${GROUP}/claim.ts`,
    find: 'attempts: row.attempts + 1, version: row.version + 1',
    replace: 'attempts: row.attempts + 1, version: row.version',
    tests: TESTS,
  },
  {
    name: 'a page has more messages than its limit',
    file: `${GROUP}/claim.ts`,
    find: 'isFull = size === limit || (size > 0 && next > most)',
    replace: 'isFull = size > 0 && next > most',
    tests: TESTS,
  },
  {
    name: 'a page has more bytes than its limit',
    file: `${GROUP}/claim.ts`,
    find: 'isFull = size === limit || (size > 0 && next > most)',
    replace: 'isFull = size === limit',
    tests: TESTS,
  },
  {
    name: 'the next due time leaves out leases',
    file: `${GROUP}/claim.ts`,
    find: 'const deadlines = sweep ? liveLeases',
    replace: 'const deadlines = sweep && op === undefined ? liveLeases',
    tests: TESTS,
  },
  {
    name: 'a lease of 0 expires at once',
    file: `${GROUP}/claim.ts`,
    find: 'deadline: op.leaseMs === 0 ? null : now + op.leaseMs',
    replace: 'deadline: now + op.leaseMs',
    tests: TESTS,
  },
  {
    name: 'a last attempt shares its piece',
    file: `${GROUP}/retries.ts`,
    find: 'piece !== undefined && piece.attempts + 1 >= maxAttempts',
    replace: 'piece !== undefined && piece.attempts >= maxAttempts',
    tests: TESTS,
  },
  {
    name: 'retries are claimed before they are due',
    file: `${GROUP}/retries.ts`,
    find: 'kindOf(each) === kind && each.due <= now)',
    replace: 'kindOf(each) === kind)',
    tests: TESTS,
  },
  {
    name: 'a suspect alone goes to a consumer that holds others',
    file: `${GROUP}/retries.ts`,
    find: "if (alone.length > 0 && suspects === 'alone') return",
    replace: "if (alone.length > 0 && suspects !== 'none') return",
    tests: TESTS,
  },
]

const settling: Mutant[] = [
  {
    name: 'a settlement that is sent again fails its messages twice',
    file: `${GROUP}/settle.ts`,
    find: 'const failed = nacks.filter(({ slot }) => slots.take(slot))',
    replace: 'const failed = nacks.filter(({ slot }) => slots.take(slot) || true)',
    tests: TESTS,
  },
  {
    name: 'a release counts as an attempt',
    file: `${GROUP}/settle.ts`,
    find: 'attempts: retry.attempts - 1, due',
    replace: 'due',
    tests: TESTS,
  },
  {
    name: 'one attempt too many',
    file: `${GROUP}/settle.ts`,
    find: '    if (retry.attempts >= maxAttempts) {',
    replace: '    if (retry.attempts > maxAttempts) {',
    tests: TESTS,
  },
  {
    name: 'the token of another lease settles',
    file: `${GROUP}/settle.ts`,
    find: 'return lease?.nonce === nonce ? lease : undefined',
    replace: 'return lease ?? (nonce === null ? lease : undefined)',
    tests: TESTS,
  },
  {
    name: 'a lease that was never given out counts as finished',
    file: `${GROUP}/settle.ts`,
    find: 'const isUnknown = number >= document.nextLease ||',
    replace: 'const isUnknown =',
    tests: TESTS,
  },
  {
    name: 'a forgotten lease counts as finished',
    file: `${GROUP}/settle.ts`,
    find: 'if (isUnknown || number < document.floor) return',
    replace: 'if (isUnknown) return',
    tests: TESTS,
  },
  {
    name: 'what was settled before the expiry is stale',
    file: `${GROUP}/settle.ts`,
    find: 'slots.filter(slot => !(settled?.has(slot) ?? false))',
    replace: 'slots.filter(slot => settled !== undefined || slot < 0)',
    tests: TESTS,
  },
  {
    name: 'a retry that failed by itself stays a suspect',
    file: `${GROUP}/settle.ts`,
    find: 'due: draft.now + delayMs, suspect: false, piece: null })',
    replace: 'due: draft.now + delayMs })',
    tests: TESTS,
  },
  {
    name: 'an extension without end expires at once',
    file: `${GROUP}/settle.ts`,
    find: 'lease.deadline = ms === 0 ? null : draft.now + ms',
    replace: 'lease.deadline = draft.now + ms',
    tests: TESTS,
  },
]

const expiry: Mutant[] = [
  {
    name: 'settled messages of an expired lease come back',
    file: `${GROUP}/expiry.ts`,
    find: 'filter(({ slot }) => !slots.has(slot))',
    replace: 'filter(({ slot }) => slot >= 0 || slots.has(slot))',
    tests: TESTS,
  },
  {
    name: 'one attempt too many where leases expire',
    file: `${GROUP}/expiry.ts`,
    find: 'failed.filter(({ retry }) => retry.attempts >= maxAttempts)',
    replace: 'failed.filter(({ retry }) => retry.attempts > maxAttempts)',
    tests: TESTS,
  },
  {
    name: 'messages with unequal attempts left share a piece',
    file: `${GROUP}/expiry.ts`,
    find: 'Map.groupBy(taken, each => each.attempts)',
    replace: 'Map.groupBy(taken, () => taken[0]?.attempts ?? 1)',
    tests: TESTS,
  },
  {
    name: 'what was forgotten about ended leases counts as settled',
    file: `${GROUP}/expiry.ts`,
    find: 'document.floor = Math.max(document.floor, number + 1)',
    replace: 'document.floor = Math.max(document.floor, number)',
    tests: TESTS,
  },
  {
    name: 'a dead group is found before its last miss',
    file: `${JETSTREAM}/heartbeats.ts`,
    find: "const isSilent = group.status === 'ACTIVE' && group",
    replace: 'const isSilent = group',
    tests: TESTS,
  },
  {
    name: 'the group of a queue dies',
    file: `${JETSTREAM}/heartbeats.ts`,
    find: "if (!isSilent || topic.config.semantics !== 'pub-sub') continue",
    replace: 'if (!isSilent) continue',
    tests: TESTS,
  },
]

const positions: Mutant[] = [
  {
    name: 'a cancelled group is reset',
    file: `${GROUP}/position.ts`,
    find: "  if (document.status === 'CANCELLED') return { refused: 'CANCELLED' }\n",
    replace: '',
    tests: TESTS,
  },
  {
    name: 'what a group holds is not lost by a forced advance',
    file: `${GROUP}/position.ts`,
    find: 'const held = countInFlight(document) + countRetries(document)',
    replace: 'const held = countRetries(document)',
    tests: TESTS,
  },
  {
    name: 'a group that has gone back loses what it came back for',
    file: `${GROUP}/position.ts`,
    find: 'if (facts.topicSeq !== topicSeq || draft.changedTopic !== undefined) return',
    replace: 'if (draft.changedTopic !== undefined) return',
    tests: TESTS,
  },
  {
    name: 'a loss of a dead group is counted at once',
    file: `${GROUP}/position.ts`,
    find: "  if (document.status === 'DEAD') {",
    replace: "  if (document.group === '/') {",
    tests: TESTS,
  },
  {
    name: 'held messages that were lost stay open',
    file: `${GROUP}/position.ts`,
    find: 'const count = passOver(draft, upTo) + held.count + retries.count',
    replace: 'const count = passOver(draft, upTo) + retries.count',
    tests: TESTS,
  },
  {
    name: 'leases from before a reset settle after it',
    file: `${GROUP}/position.ts`,
    find: '  document.floor = document.nextLease\n',
    replace: '',
    tests: TESTS,
  },
]

export const JETSTREAM_STORE: Area = {
  name: 'jetstream',
  mutants: [...claims, ...settling, ...expiry, ...positions],
}
