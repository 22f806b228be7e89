import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Client } from 'pg'
import { Session } from '../../src/stores/postgres/session.ts'
import { Network } from './network.ts'
import { server, useServer } from './store-bench.ts'

useServer()

/** The protocol's Describe of a portal without a name. */
const DESCRIBE = 'D\0\0\0\x06P'

async function connected(client = () => new Client({ connectionString: server.url })) {
  const session = new Session({ client, limitMs: 10_000, onSilence: () => {} })
  await session.connect()
  return { session, [Symbol.asyncDispose]: () => session.leave() }
}

describe('a prepared statement', () => {
  it('returns the same when it is repeated, whatever its parameters', async () => {
    await using here = await connected()
    const columns = [
      '$1::text as a',
      '$2::bytea as b',
      '$3::bigint as c',
      '$4::text[] as d',
      '$5::bytea as e',
      '$6::jsonb as f',
    ]
    const text = `select ${columns.join(', ')}, length($5::bytea) as g, null as h from generate_series(1, 2)`
    const long = new Uint8Array(100_000).fill(7)
    const parameters = [
      ['', new Uint8Array(), 0, [], long, {}],
      [
        'ä€😀\n"\\',
        Buffer.from([0, 255, 1]),
        2 ** 53 - 1,
        ['a', null, 'ü"\\'],
        new Uint8Array(16_384),
        { b: [1, null] },
      ],
      [null, null, null, null, null, null],
      [undefined, 'text', '12', ['x'], long.subarray(0, 16_385), '[]'],
      ['x'.repeat(50_000), long, -1n, ['y'.repeat(50_000)], long, 7],
    ]
    for (const values of parameters) {
      const unnamed = await here.session.query({ text, values })
      for (let time = 1; time <= 3; time++) {
        assert.deepEqual(await here.session.query({ text, values, name: 'prepared' }), unnamed)
      }
    }
  })

  it('is described only once', async () => {
    await using network = await Network.to(server.url)
    await using here = await connected(() => new Client({ connectionString: network.url }))
    let sent = ''
    network.onSent = each => {
      sent += each
    }
    const described: boolean[] = []
    for (let time = 1; time <= 3; time++) {
      sent = ''
      await here.session.query({ text: 'select $1::int as n', values: [time], name: 'prepared' })
      described.push(sent.includes(DESCRIBE))
    }
    assert.deepEqual(described, [true, false, false])
  })

  it('may return nothing, or be a command', async () => {
    await using here = await connected()
    const statements = ['select 1 as n where $1::int = 0', "set application_name = 'repeated'"]
    for (const [index, text] of statements.entries()) {
      for (let time = 1; time <= 3; time++) {
        const values = index === 0 ? [time] : []
        assert.deepEqual(await here.session.query({ text, values, name: `s${index}` }), [])
      }
    }
  })

  it('that fails leaves the connection as it was', async () => {
    await using here = await connected()
    const divide = (by: number) => here.session.query({ text: 'select 6 / $1::int as n', values: [by], name: 'divide' })
    assert.deepEqual(await divide(2), [{ n: '3' }])
    await assert.rejects(divide(0), { code: '22012' })
    const circle: Record<string, unknown> = {}
    circle.self = circle
    await assert.rejects(
      here.session.query({ text: 'select 6 / $1::int as n', values: [circle], name: 'divide' }),
      TypeError,
    )
    assert.deepEqual(await divide(3), [{ n: '2' }])
  })

  it('of another text under the same name is refused', async () => {
    await using here = await connected()
    for (let time = 1; time <= 2; time++) await here.session.query({ text: 'select 1 as n', values: [], name: 'same' })
    await assert.rejects(here.session.query({ text: 'select 2 as n', values: [], name: 'same' }), /must be unique/)
  })

  it('goes through whatever wraps the client and rewrites its queries', async () => {
    await using here = await connected(() => {
      const client = new Client({ connectionString: server.url })
      const query = client.query.bind(client) as (config: object) => unknown
      const commented = (config: { text: string }) => query({ ...config, text: `${config.text} /* traced */` })
      return Object.assign(client, { query: commented })
    })
    for (let time = 1; time <= 3; time++) {
      assert.deepEqual(await here.session.query({ text: 'select $1::int as n', values: [5], name: 'prepared' }), [
        { n: '5' },
      ])
    }
  })
})
