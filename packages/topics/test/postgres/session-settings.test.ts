import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Client } from 'pg'
import { Session } from '../../src/stores/postgres/session.ts'
import { applySettings } from '../../src/stores/postgres/session-settings.ts'
import { admin, server, useServer } from './store-bench.ts'

useServer()

const LIMIT_MS = 10_000

/** The statement_timeout of a connection, for the limit of each of these steps, where the user has one of its own. */
async function timeouts(users: string | null, limits: readonly number[]): Promise<string[]> {
  await admin.query('drop role if exists limited')
  await admin.query('create role limited login')
  if (users) await admin.query(`alter role limited set statement_timeout = '${users}'`)
  const connectionString = server.url.replace('postgres@', 'limited@')
  const client = () => new Client({ connectionString })
  const session = new Session({ client, limitMs: LIMIT_MS, onSilence: () => {} })
  await session.connect()
  const shown: string[] = []
  for (const limitMs of limits) {
    session.limitMs = limitMs
    await applySettings(session, true, LIMIT_MS)
    const [row] = await session.query({ text: 'show statement_timeout', values: [] })
    shown.push(row?.statement_timeout ?? '')
  }
  await session.leave()
  return shown
}

describe('the statement_timeout of a connection', () => {
  it('is a little below the limit of its statements, whatever that is', async () => {
    assert.deepEqual(await timeouts(null, [LIMIT_MS, 600_000, LIMIT_MS]), ['9s', '9min', '9s'])
  })

  it('stays as the administrator set it if that is lower', async () => {
    assert.deepEqual(await timeouts('1500ms', [LIMIT_MS, 600_000]), ['1500ms', '1500ms'])
    assert.deepEqual(await timeouts('1min', [LIMIT_MS, 600_000, LIMIT_MS]), ['9s', '1min', '9s'])
    assert.deepEqual(await timeouts('1d', [LIMIT_MS, 600_000]), ['9s', '9min'])
  })
})
