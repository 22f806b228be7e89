/** Each rule of the checker, on histories written by hand: the right history passes, and each wrong one is found. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Entry, Handed, LossEntry, Stamped } from '../journal.ts'
import { findViolations } from './check.ts'
import { type FinalGroup, historyOf } from './history.ts'

const TOPIC = 'default/orders'
const MAX_ATTEMPTS = 3
const GROUP: FinalGroup = { topic: TOPIC, group: 'email', deadLetters: [] }
const SECOND = 1e9

type Part = { readonly entries: readonly Stamped[]; readonly groups?: readonly FinalGroup[] }

/** The rules that are violated; lines are a second apart. */
function rulesOf({ entries, groups = [GROUP] }: Part, ordered = false): string[] {
  const given = { groups, maxAttempts: MAX_ATTEMPTS, ordered: ordered ? [{ topic: TOPIC, group: 'email' }] : [] }
  return [...new Set(findViolations(historyOf(entries, given)).map(({ rule }) => rule))]
}

/** Gives each line the next second, unless it has a time. */
const lines = (...entries: readonly (Entry & { readonly at?: number; readonly pid?: number })[]): Stamped[] =>
  entries.map((entry, index) => ({ pid: 1, ...entry, at: (entry.at ?? index + 1) * SECOND }))

const handed = (key: string, version = 1, attempt = version, messageId = `id-${key}`): Handed => ({
  ...{ topic: TOPIC, group: 'email', key, messageId, attempt, version },
})
const publish = (
  key: string,
  phase: 'invoked' | 'ok' | 'failed' | 'unknown',
  call: number,
  messageId = `id-${key}`,
): Entry => ({
  ...{ what: 'publish', phase, call, topic: TOPIC, keys: [key], round: call },
  ...(phase === 'ok' && { messageIds: [messageId] }),
})
const delivered = (key: string, version = 1, attempt = version, messageId?: string): Entry => ({
  what: 'delivered',
  ...handed(key, version, attempt, messageId),
})
const acked = (key: string, version = 1): [Entry, Entry] => [
  { what: 'ack', phase: 'invoked', ...handed(key, version) },
  { what: 'ack', phase: 'ok', ...handed(key, version) },
]
const published = (key: string, call: number): [Entry, Entry] => [
  publish(key, 'invoked', call),
  publish(key, 'ok', call),
]
const loss = (from: number, to: number, what: LossEntry['what'] = 'loss', fault = 'failover'): Entry => ({
  ...{ what, fault, scope: '', from: from * SECOND, to: to * SECOND },
})
const reset: [Entry, Entry] = [
  { what: 'operate', phase: 'invoked', call: 90, verb: 'reset', topic: TOPIC, group: 'email' },
  { what: 'operate', phase: 'ok', call: 90, verb: 'reset', topic: TOPIC, group: 'email' },
]
const dead = (key: string, attempts = MAX_ATTEMPTS) => ({ messageId: `id-${key}`, key, attempts })

describe('a history in which everything is right', () => {
  it('passes: acknowledged after a retry, dead-lettered, published with an unknown outcome', () => {
    const entries = lines(
      ...published('a', 1),
      delivered('a'),
      { what: 'nack', phase: 'invoked', ...handed('a') },
      delivered('a', 2),
      ...acked('a', 2),
      ...published('b', 2),
      delivered('b', 3),
      publish('c', 'invoked', 3),
    )
    assert.deepEqual(rulesOf({ entries, groups: [{ ...GROUP, deadLetters: [dead('b')] }] }, true), [])
  })
})

describe('a lost message', () => {
  it('is found if it was acknowledged as published and never delivered', () => {
    assert.deepEqual(rulesOf({ entries: lines(...published('a', 1)) }), ['lost'])
  })

  it('is found if it was delivered and neither acknowledged nor dead-lettered', () => {
    assert.deepEqual(rulesOf({ entries: lines(...published('a', 1), delivered('a')) }), ['lost'])
  })

  it('is found if the publish is unknown and only another group received it', () => {
    const groups = [GROUP, { ...GROUP, group: 'billing' }]
    const entries = lines(publish('a', 'invoked', 1), delivered('a'), ...acked('a'))
    assert.deepEqual(rulesOf({ entries, groups }), ['lost'])
  })

  it('is excused if the publish was repeated, and the database lost the commit that stored it', () => {
    const groups = [GROUP, { ...GROUP, group: 'billing' }]
    const seen = [delivered('a'), ...acked('a')]
    const repeated = [publish('a', 'invoked', 1), publish('a', 'unknown', 1), ...published('a', 2)]
    assert.deepEqual(rulesOf({ entries: lines(...repeated, ...seen, loss(3, 5)), groups }), [])
    assert.deepEqual(rulesOf({ entries: lines(...repeated, ...seen, loss(7, 8)), groups }), ['lost'])
  })

  it('is excused if the database lost its commits at that time, and only then', () => {
    assert.deepEqual(rulesOf({ entries: lines(...published('a', 1), loss(1, 3)) }), [])
    assert.deepEqual(rulesOf({ entries: lines(...published('a', 1), loss(3, 4)) }), ['lost'])
    assert.deepEqual(rulesOf({ entries: lines(...published('a', 1), loss(1, 3, 'crash')) }), ['lost'])
  })
})

describe('a publish whose outcome is unknown, at the time of a power loss', () => {
  const groups = [GROUP, { ...GROUP, group: 'billing' }]
  const begin = [publish('a', 'invoked', 1), publish('a', 'unknown', 1)]
  const powerLoss = loss(3, 5, 'crash', 'power-loss')

  it('may be gone although a process received it, because commits are seen before they are synced', () => {
    assert.deepEqual(rulesOf({ entries: lines(...begin, { ...delivered('a'), at: 4 }, powerLoss), groups }), [])
  })

  it('is stored if it was settled then, or received afterwards', () => {
    const settled = lines(...begin, ...[delivered('a'), ...acked('a')], powerLoss)
    assert.deepEqual(rulesOf({ entries: settled, groups }), ['lost'])
    const afterwards = lines(...begin, { ...delivered('a'), at: 6 }, powerLoss)
    assert.deepEqual(rulesOf({ entries: afterwards, groups }), ['lost'])
  })

  it('is stored if it was received at the time of another crash', () => {
    const entries = lines(...begin, { ...delivered('a'), at: 4 }, loss(3, 5, 'crash', 'restart'))
    assert.deepEqual(rulesOf({ entries, groups }), ['lost'])
  })

  it('may be gone in part, if it was a batch', () => {
    const batch: Entry = { what: 'publish', phase: 'invoked', call: 1, topic: TOPIC, keys: ['a', 'b'], round: 1 }
    assert.deepEqual(rulesOf({ entries: lines(batch, { ...delivered('a'), at: 4 }, powerLoss) }), [])
    assert.deepEqual(rulesOf({ entries: lines(batch, { ...delivered('a'), at: 6 }, ...acked('a'), powerLoss) }), [
      'torn batch',
    ])
  })
})

describe('a message that nobody published', () => {
  it('is found', () => {
    assert.deepEqual(rulesOf({ entries: lines(delivered('a'), ...acked('a')) }), ['invented'])
  })

  it('is found if its publish failed, or was to another topic', () => {
    const failed = lines(publish('a', 'invoked', 1), publish('a', 'failed', 1), delivered('a'), ...acked('a'))
    assert.deepEqual(rulesOf({ entries: failed }), ['invented'])
    const elsewhere = lines(
      { ...publish('a', 'invoked', 1), topic: 'default/jobs' } as Entry,
      delivered('a'),
      ...acked('a'),
    )
    assert.deepEqual(rulesOf({ entries: elsewhere }), ['invented'])
  })
})

describe('a publish that is repeated because its outcome is unknown', () => {
  it('may be stored, although the repetition failed', () => {
    const first = [publish('a', 'invoked', 1), publish('a', 'unknown', 1)]
    const second = [
      { ...publish('a', 'invoked', 2), call: 900 },
      { ...publish('a', 'failed', 2), call: 900 },
    ] as Entry[]
    assert.deepEqual(rulesOf({ entries: lines(...first, delivered('a'), ...acked('a'), ...second) }), [])
  })
})

describe('identity', () => {
  it('a message stored twice is found', () => {
    const entries = lines(publish('a', 'invoked', 1), delivered('a'), ...acked('a'), delivered('a', 1, 1, 'other'))
    assert.deepEqual(rulesOf({ entries }), ['stored twice'])
  })

  it('a message id of two messages is found', () => {
    const entries = lines(
      ...[publish('a', 'invoked', 1), publish('a', 'ok', 1, 'same'), delivered('a', 1, 1, 'same')],
      ...acked('a').map(entry => ({ ...entry, messageId: 'same' })),
      ...[publish('b', 'invoked', 2), publish('b', 'ok', 2, 'same'), delivered('b', 1, 1, 'same')],
      ...acked('b').map(entry => ({ ...entry, messageId: 'same' })),
    )
    assert.deepEqual(rulesOf({ entries }), ['message id reused'])
  })

  it('a batch of which a part was stored is found', () => {
    const batch: Entry = { what: 'publish', phase: 'invoked', call: 1, topic: TOPIC, keys: ['a', 'b'], round: 1 }
    assert.deepEqual(rulesOf({ entries: lines(batch, delivered('a'), ...acked('a')) }), ['torn batch'])
    assert.deepEqual(rulesOf({ entries: lines(batch) }), [])
  })
})

describe('a delivery after the ack', () => {
  const start = lines(...published('a', 1), delivered('a'), ...acked('a'))

  it('is found', () => {
    assert.deepEqual(rulesOf({ entries: [...start, ...lines({ ...delivered('a', 2), at: 10 })] }), [
      'delivered after its ack',
    ])
  })

  it('is found if the delivery came first: a stale ack was accepted', () => {
    const entries = lines(...published('a', 1), delivered('a'), delivered('a', 2), ...acked('a', 1))
    assert.deepEqual(rulesOf({ entries }), ['delivered after its ack'])
  })

  it('is right after a reset, and after a loss of commits', () => {
    assert.deepEqual(
      rulesOf({ entries: lines(...published('a', 1), delivered('a'), ...acked('a'), ...reset, delivered('a', 2)) }),
      [],
    )
    assert.deepEqual(rulesOf({ entries: [...start, ...lines(loss(4, 5), { ...delivered('a', 2), at: 10 })] }), [])
  })

  it('is right if a claim from before a reset was noted after it, and found if the reset is long ago', () => {
    const stale: Entry[] = [
      { what: 'ack', phase: 'invoked', ...handed('a', 2) },
      { what: 'ack', phase: 'failed', error: 'TIDEMARK_STALE_DELIVERY', ...handed('a', 2) },
    ]
    const begin = [...published('a', 1), ...reset]
    const end = [delivered('a', 2), ...stale, delivered('a', 1), ...acked('a', 1)]
    assert.deepEqual(rulesOf({ entries: lines(...begin, ...end) }), [])
    const later = lines(...end).map(entry => ({ ...entry, at: entry.at + 20 * SECOND }))
    assert.deepEqual(rulesOf({ entries: [...lines(...begin), ...later] }), ['delivered after its ack'])
  })
})

describe('attempts', () => {
  it('a number that comes twice is found, unless the claim was lost in a crash', () => {
    const entries = lines(...published('a', 1), delivered('a'), delivered('a'), ...acked('a'))
    assert.deepEqual(rulesOf({ entries }), ['attempt repeated'])
    assert.deepEqual(rulesOf({ entries: [...entries, ...lines(loss(3, 4, 'crash'))] }), [])
  })

  it('a number that comes twice is right if the first was claimed before a reset and noted after it', () => {
    const twice = [delivered('a'), delivered('a'), ...acked('a')]
    assert.deepEqual(rulesOf({ entries: lines(...published('a', 1), ...reset, ...twice) }), [])
    const settled = [delivered('a'), ...acked('a'), delivered('a'), ...acked('a')]
    assert.deepEqual(rulesOf({ entries: lines(...published('a', 1), ...reset, ...settled) }), ['attempt repeated'])
  })

  it('more of them than allowed are found', () => {
    const entries = lines(...published('a', 1), delivered('a', MAX_ATTEMPTS + 1), ...acked('a', MAX_ATTEMPTS + 1))
    assert.deepEqual(rulesOf({ entries }), ['too many attempts'])
  })
})

describe('dead letters', () => {
  const entries = lines(...published('a', 1), delivered('a', MAX_ATTEMPTS))

  it('are found if there are two of one message', () => {
    assert.deepEqual(rulesOf({ entries, groups: [{ ...GROUP, deadLetters: [dead('a'), dead('a')] }] }), [
      'dead letters',
    ])
  })

  it('are found if they came before the last attempt', () => {
    assert.deepEqual(rulesOf({ entries, groups: [{ ...GROUP, deadLetters: [dead('a', 2)] }] }), ['dead letters'])
  })

  it('are found if the message was acknowledged', () => {
    const both = lines(...published('a', 1), delivered('a'), ...acked('a'))
    assert.deepEqual(rulesOf({ entries: both, groups: [{ ...GROUP, deadLetters: [dead('a')] }] }), ['dead letters'])
  })
})

describe('order', () => {
  it('of messages published one after the other is checked for a single reader', () => {
    const entries = lines(
      ...[...published('a', 1), ...published('b', 2), delivered('b'), delivered('a')],
      ...[...acked('b'), ...acked('a')],
    )
    assert.deepEqual(rulesOf({ entries }, true), ['order'])
    assert.deepEqual(rulesOf({ entries }, false), [])
  })

  it('of concurrent publishes is free', () => {
    const entries = lines(
      ...[publish('a', 'invoked', 1), publish('b', 'invoked', 2), publish('a', 'ok', 1), publish('b', 'ok', 2)],
      ...[delivered('b'), delivered('a'), ...acked('b'), ...acked('a')],
    )
    assert.deepEqual(rulesOf({ entries }, true), [])
  })
})

describe('a watermark', () => {
  const at = (position: number): Entry => ({ what: 'watermark', topic: TOPIC, group: 'email', position })

  it('that goes back is found, unless an operator reset the group', () => {
    assert.deepEqual(rulesOf({ entries: lines(at(5), at(9), at(7)) }), ['watermark went back'])
    assert.deepEqual(rulesOf({ entries: lines(at(5), at(9), ...reset, at(7)) }), [])
  })
})
