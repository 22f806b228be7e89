/** TLS to PostgreSQL, by the URL and by `ssl`, with a certificate that nobody but the test trusts. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { ConfigError, DatabaseError, type OpenOptions, open } from 'tidemark'
import { createFolder, removeFolder } from '../../../../testing/folders.ts'
import { type PostgresServer, startPostgres } from '../../../../testing/postgres-server.ts'
import { executePostgres, SILENT } from '../conformance/stores.ts'

const skip = spawnSync('openssl', ['version']).status === 0 ? false : 'needs the command openssl'

describe('TLS to PostgreSQL', { skip }, () => {
  const folder = createFolder('tidemark-tls')
  const certificate = join(folder, 'server.crt')
  const key = join(folder, 'server.key')
  let server: PostgresServer

  before(async () => {
    makeCertificate(certificate, key)
    server = await startPostgres()
    const { uid, gid } = server.binaries.account
    for (const file of [folder, certificate, key]) if (uid !== undefined && gid !== undefined) chownSync(file, uid, gid)
    await executePostgres(server.url, `alter system set ssl_cert_file = '${certificate}'`)
    await executePostgres(server.url, `alter system set ssl_key_file = '${key}'`)
    await executePostgres(server.url, 'alter system set ssl = on')
    await server.stop()
    await server.start()
  })
  after(async () => {
    await server?.[Symbol.asyncDispose]()
    removeFolder(folder)
  })

  const isEncrypted = async (parameters: string, options: OpenOptions = {}): Promise<boolean[]> => {
    const tm = await open(`${server.url}?${parameters}`, { logger: SILENT, ...options })
    await tm.publish('work', 1)
    const text = `
      select distinct s.ssl from pg_stat_ssl as s join pg_stat_activity as a using (pid)
      where a.application_name = 'tidemark'`
    const rows = await executePostgres(server.url, text)
    await tm.close()
    return rows.map(({ ssl }) => ssl === true)
  }

  it('follows the sslmode of the URL', async () => {
    assert.deepEqual(await isEncrypted('sslmode=disable'), [false])
    assert.deepEqual(await isEncrypted('sslmode=no-verify'), [true])
    assert.deepEqual(await isEncrypted(`sslmode=verify-full&sslrootcert=${certificate}`), [true])
  })

  it('follows the option ssl', async () => {
    assert.deepEqual(await isEncrypted('', { ssl: { ca: readFileSync(certificate, 'utf8') } }), [true])
    assert.deepEqual(await isEncrypted('', { ssl: { rejectUnauthorized: false } }), [true])
    assert.deepEqual(await isEncrypted('', { ssl: false }), [false])
  })

  it('refuses a certificate that it has no reason to trust', async () => {
    for (const [parameters, options] of [
      ['sslmode=verify-full', {}],
      ['', { ssl: true }],
    ] as const) {
      await assert.rejects(isEncrypted(parameters, options), (error: unknown) => {
        assert.ok(error instanceof DatabaseError, String(error))
        assert.match(`${error.message} ${String(error.cause)}`, /certificate/)
        return true
      })
    }
  })

  it('refuses ssl beside the parameters of the URL, beside client, and of another type', async () => {
    await assert.rejects(isEncrypted('sslmode=require', { ssl: true }), ConfigError)
    await assert.rejects(isEncrypted('', { ssl: true, client: () => assert.fail() }), ConfigError)
    await assert.rejects(isEncrypted('', { ssl: 'yes' as unknown as boolean }), ConfigError)
  })
})

/** For the address that the server listens at. */
function makeCertificate(certificate: string, key: string): void {
  const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=127.0.0.1']
  const names = ['-addext', 'subjectAltName=IP:127.0.0.1']
  const { status, stderr } = spawnSync('openssl', [...request, ...names, '-keyout', key, '-out', certificate])
  assert.equal(status, 0, String(stderr))
  chmodSync(key, 0o600)
}
