import assert from 'node:assert/strict'
import { test } from 'node:test'
import { orphansIn, orphansText } from '../src/page/topics/orphans.ts'
import {
  changedFields,
  DEFAULTS,
  durationText,
  FIELDS,
  faultOf,
  optionsOf,
  valuesOf,
} from '../src/page/topics/settings.ts'

const before = valuesOf(DEFAULTS)

test('writes durations in the largest unit without a remainder', () => {
  assert.deepEqual([0, 1_500, 90_000, 5_400_000, 86_400_000].map(durationText), ['0s', '1500ms', '90s', '90m', '1d'])
})

test('shows every setting, an unlimited one by its word', () => {
  assert.equal(before.retention, '1d')
  assert.equal(before['backoff.initial'], '1s')
  const endless = valuesOf({ ...DEFAULTS, retentionMs: null, maxRetentionMs: null })
  assert.deepEqual([endless.retention, endless.maxRetention], ['forever', 'none'])
  assert.ok(FIELDS.every(({ name }) => before[name] !== undefined && before[name] !== ''))
})

test('sends only what has changed, and a backoff as a whole', () => {
  assert.deepEqual(optionsOf(before, before), {})
  assert.deepEqual(optionsOf(before, { ...before, retention: '24h' }), {})
  assert.deepEqual(optionsOf(before, { ...before, retention: '1h', maxAttempts: '3', advanceZombies: 'true' }), {
    retention: '1h',
    maxAttempts: 3,
    advanceZombies: true,
  })
  assert.deepEqual(optionsOf(before, { ...before, 'backoff.factor': '3' }), {
    backoff: { initial: '1s', max: '1m', factor: 3 },
  })
})

test('marks a field that cannot be read', () => {
  const field = (name: string) => FIELDS.find(each => each.name === name) ?? FIELDS[0]
  const fault = (name: string, text: string) => faultOf(field(name) as (typeof FIELDS)[number], text)
  assert.match(fault('retention', 'tomorrow') ?? '', /30s, 24h or 7d, or forever/)
  assert.equal(fault('retention', 'forever'), undefined)
  assert.match(fault('lease', 'forever') ?? '', /30s, 24h or 7d\./)
  assert.match(fault('maxAttempts', 'many') ?? '', /number/)
  assert.deepEqual(
    changedFields(before, { ...before, retention: 'tomorrow' }).map(({ name }) => name),
    ['retention'],
  )
})

test('counts messages that wait only for groups that are gone', () => {
  const page = [
    { id: 1, required: ['email', 'gone'], completed: ['email'] },
    { id: 2, required: ['email', 'gone'], completed: ['gone'] },
    { id: 3, required: ['gone'], completed: [] },
  ]
  assert.equal(orphansIn(page, 100, new Set(['email'])), 2)
  assert.equal(orphansIn(page, 3, new Set(['email'])), 1)
  assert.equal(orphansText(31, true, '1d'), '31 messages older than 1d count as done for groups that are gone.')
  assert.match(orphansText(4_000, false, '1d'), /^At least 4.000 messages/)
})
