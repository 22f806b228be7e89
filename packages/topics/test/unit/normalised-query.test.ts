import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { normalisedQuery } from '../../src/stores/postgres/normalised-query.ts'

describe('a query that is shown', () => {
  for (const [query, shown] of [
    ["select pg_backend_pid() as pid, 'a secret' as s", 'select pg_backend_pid() as pid, ? as s'],
    ["select 'it''s', E'it\\'s', N'x', b'01', U&'\\0061' from t", 'select ?, ?, ?, ?, ? from t'],
    [
      'update users set token = $$secret$$ where id = 42 and n = $1',
      'update users set token = ? where id = ? and n = $1',
    ],
    ['select $tag$ a $$ secret $tag$, 1.5e3, .5, log_1.x1', 'select ?, ?, ?, log_1.x1'],
    [
      'select 1 -- token=secret\n, 2 /* secret /* nested */ secret */ from "Odd ""name"""',
      'select ? , ? from "Odd ""name"""',
    ],
    ["select 'a secret that is cut", 'select …'],
    ['select $a$ a secret that is cut', 'select …'],
    ['select 1 /* a secret that is cut', 'select ? …'],
    ["select E'a secret\\' that is cut", 'select …'],
    ["select 'it\\' , secret, ' from t", 'select …'],
    ['select date\'2026-01-01\', "t".a from "t"', 'select date?, "t".a from "t"'],
    ['set app.token to secret; select 1', 'set app.token to ?; select ?'],
    ['SET LOCAL app.token = secret', 'SET LOCAL app.token = ?'],
    ["alter role a password 'secret'", 'alter role a password ?'],
    ['', ''],
  ] as const) {
    it(`keeps its shape and nobody's data: ${query.slice(0, 60).replaceAll(/\s/g, ' ')}`, () => {
      assert.equal(normalisedQuery(query), shown)
    })
  }

  it('is short', () => {
    assert.ok(normalisedQuery(`select ${'abc, '.repeat(1_000)}`).length < 210)
  })

  it('never shows what was in a literal or a comment, wherever the server cuts it', () => {
    const SECRET = 'hunter2'
    const noise = fc.string({ maxLength: 12 })
    const literal = noise.chain(text =>
      fc.constantFrom(
        `'${(text + SECRET).replaceAll("'", "''")}'`,
        `E'${(text + SECRET).replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`,
        `$q$${text.replaceAll('$', '')}${SECRET}$q$`,
        `/*${text.replaceAll(/[/*]/g, '')}${SECRET}*/`,
        `--${text.replaceAll(/[\r\n]/g, '')}${SECRET}\n`,
      ),
    )
    fc.assert(
      fc.property(fc.array(literal, { minLength: 1, maxLength: 5 }), fc.nat(200), (literals, cut) => {
        const query = `select ${literals.join(' , ')}`
        assert.ok(!normalisedQuery(query).includes(SECRET), query)
        assert.ok(!normalisedQuery(query.slice(0, cut)).includes('hunter'), query.slice(0, cut))
      }),
      { numRuns: 300 },
    )
  })
})
