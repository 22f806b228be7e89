import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
// Inside: the small parts, on inputs that a client library would not send.
import { accepts } from '../src/accepts.ts'
import { encodeColumns } from '../src/answers/cell-columns.ts'
import { MemoryBudget } from '../src/answers/memory-budget.ts'
import { isNestedDeeper } from '../src/bodies.ts'
import { ConcurrencyLimit } from '../src/concurrency-limit.ts'
import { NotAcceptableError, RateLimitError, TooManyError, UnsentAnswersError } from '../src/errors.ts'
import { hashOf } from '../src/index.ts'
import { pageByName } from '../src/paging.ts'
import { toProblem } from '../src/problems/problem.ts'
import { hostNameOf, isLoopback } from '../src/security/addresses.ts'
import { RequestRate, RequestsAtOnce } from '../src/security/limiters.ts'
import { bearerOf, TokenCheck } from '../src/security/token-check.ts'

describe('nesting', () => {
  const depthOf = (value: unknown): number =>
    typeof value !== 'object' || value === null ? 0 : 1 + Math.max(0, ...Object.values(value).map(depthOf))

  it('is counted in the text as in the value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 8 }), fc.nat(10), fc.boolean(), (value, most, isPretty) => {
        const text = JSON.stringify(value, null, isPretty ? 2 : 0)
        assert.equal(isNestedDeeper(text, most), depthOf(value) > most)
      }),
    )
  })

  it('terminates for invalid JSON', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('"', '\\', '[', ']', '{', 'a') }), text => {
        isNestedDeeper(text, 3)
      }),
    )
  })
})

describe('the name of a host', () => {
  it('is without port and in lower case, and only of valid ones', () => {
    assert.equal(hostNameOf('LocalHost:80'), 'localhost')
    assert.equal(hostNameOf('[::1]:80'), '::1')
    assert.equal(hostNameOf('example.org'), 'example.org')
    for (const wrong of [
      '',
      'a b',
      'a:b',
      'a@b',
      'a/b',
      '[x]',
      '[1.2.3.4]',
      'a:123456',
      'user@localhost',
      'a\r\nb',
      '::1',
    ]) {
      assert.equal(hostNameOf(wrong), undefined, wrong)
    }
  })

  it('is the loopback address only if it really is', () => {
    for (const name of ['127.0.0.1', '127.9.9.9', '::1', 'localhost', '::ffff:127.0.0.1'])
      assert.ok(isLoopback(name), name)
    for (const name of ['127.0.0.1.x', '128.0.0.1', 'x127.0.0.1', 'localhost.x', '0.0.0.0', '::'])
      assert.ok(!isLoopback(name), name)
  })
})

describe('tokens', () => {
  it('match only as a whole', () => {
    const [read, admin] = ['r'.repeat(20), 'a'.repeat(20)]
    const token = (name: string, secret: string) => ({ name, hash: hashOf(secret), grants: [], expiresAt: null })
    const tokens = new TokenCheck([token('read', read), token('admin', admin)], undefined)
    const nameOf = (header: string): string | undefined => tokens.find(bearerOf(header) ?? '')?.name
    assert.equal(nameOf(`Bearer ${read}`), 'read')
    assert.equal(nameOf(`bearer ${admin}`), 'admin')
    fc.assert(
      fc.property(fc.string(), text => {
        fc.pre(!/^[ra]{20}$/.test(text.trim()))
        assert.equal(nameOf(`Bearer ${text}`), undefined)
        assert.equal(nameOf(text), undefined)
      }),
    )
  })
})

describe('what is accepted', () => {
  const offered = ['application/x-protobuf', 'application/json'] as const

  it('is the first without a preference, and the preferred one otherwise', () => {
    for (const [header, type] of [
      [undefined, offered[0]],
      ['*/*', offered[0]],
      ['application/*', offered[0]],
      ['application/json', offered[1]],
      ['text/html, application/json;q=0.9, */*;q=0.8', offered[1]],
      ['application/json;q=0.5, application/x-protobuf', offered[0]],
      ['application/x-protobuf;q=0, */*', offered[1]],
    ] as const) {
      assert.equal(accepts(header, offered), type, header)
    }
    assert.throws(() => accepts('image/png', offered), NotAcceptableError)
    assert.throws(() => accepts('*/*;q=0', offered), NotAcceptableError)
  })

  it('is one of the offered types, whatever the header', () => {
    fc.assert(
      fc.property(fc.string(), header => {
        try {
          assert.ok(offered.includes(accepts(header, offered) as never))
        } catch (error) {
          assert.ok(error instanceof NotAcceptableError)
        }
      }),
    )
  })
})

describe('pages by name', () => {
  it('give all, once and in order', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string({ minLength: 1 })), fc.integer({ min: 1, max: 5 }), (names, limit) => {
        const all = [...names].sort((one, other) => (one < other ? -1 : 1))
        const seen: string[] = []
        for (let after: string | null | undefined; after !== null; ) {
          const page = pageByName(all, name => name, { limit, ...(after !== undefined && { after }) })
          seen.push(...page.items)
          after = page.next
        }
        assert.deepEqual(seen, all)
      }),
    )
  })
})

describe('a page of names', () => {
  it('has no next one if nothing follows', () => {
    const page = (limit: number) => pageByName(['a', 'b'], name => name, { limit })
    assert.deepEqual(
      [1, 2, 3].map(limit => page(limit).next),
      ['a', null, null],
    )
  })
})

describe('the memory of answers', () => {
  it('is granted by halves, so that something is left for the next', async () => {
    const budget = new MemoryBudget(1_000)
    const { signal } = new AbortController()
    const granted = [await budget.reserve(800, 0, signal), await budget.reserve(800, 0, signal)]
    assert.deepEqual(
      granted.map(({ bytes }) => bytes),
      [500, 250],
    )
    assert.equal((await budget.reserve(10, 0, signal)).bytes, 10)
  })

  it('is waited for until some is released, the time is up, or nobody wants it any more', async () => {
    const budget = new MemoryBudget(1_000)
    const { signal } = new AbortController()
    const held = budget.hold(1_000)
    await assert.rejects(budget.reserve(100, 0, signal), UnsentAnswersError)
    const waiting = budget.reserve(100, 60_000, signal)
    held.keep(0)
    assert.equal((await waiting).bytes, 100)
    budget.hold(900)
    const aborted = new AbortController()
    const given = budget.reserve(100, 60_000, aborted.signal)
    aborted.abort()
    assert.equal((await given).bytes, 0)
  })
})

describe('places', () => {
  it('are given back once', () => {
    const places = new ConcurrencyLimit('things', 2, 'things')
    const leave = places.take()
    places.take()
    assert.throws(() => places.take(), TooManyError)
    leave()
    leave()
    assert.equal(places.taken, 1)
    places.take()
    assert.throws(() => places.take(), TooManyError)
  })
})

describe('a problem', () => {
  it('has a shape whatever was thrown, and reveals nothing about foreign errors', () => {
    fc.assert(
      fc.property(fc.anything(), thrown => {
        fc.pre(thrown !== null && thrown !== undefined)
        const { status, code, detail } = toProblem(thrown)
        assert.ok(status >= 400 && status < 600 && code.startsWith('TIDEMARK_') && typeof detail === 'string')
      }),
    )
    assert.equal(toProblem(new Error('secret')).detail.includes('secret'), false)
    assert.equal(toProblem(null).code, 'TIDEMARK_INTERNAL')
  })
})

describe('a million cells as JSON', () => {
  it('are encoded in turns, so that others are answered meanwhile', async () => {
    const flatIndex = Int32Array.from({ length: 1_000_000 }, (_, place) => place)
    const cells = { flatIndex, moleculeType: flatIndex, moleculeValue: flatIndex, ownerId: flatIndex }
    let turns = 0
    let isDone = false
    const count = (): void => {
      turns++
      if (!isDone) setImmediate(count)
    }
    setImmediate(count)
    await encodeColumns(cells, { after: -1, maxCells: 1_000_000, maxBytes: 2 ** 30 })
    isDone = true
    assert.ok(turns > 2, `${turns} turns for others`)
  })
})

describe('the limits of a caller', () => {
  it('free one place for each request that ends, however often its end is noticed', () => {
    const limit = new RequestsAtOnce(2)
    const [first] = [limit.enter('a'), limit.enter('a')]
    first?.()
    first?.()
    limit.enter('a')
    assert.throws(() => limit.enter('a'), RateLimitError)
    limit.enter('b')
  })

  it('allow twice the rate after a pause, however long it was', () => {
    const rate = new RequestRate(5)
    rate.take('a', 0)
    for (let request = 0; request < 10; request++) rate.take('a', 3_600_000)
    assert.throws(() => rate.take('a', 3_600_000), RateLimitError)
  })
})
