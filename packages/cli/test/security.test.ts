import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { open } from 'tidemark'
import { temporaryFolder } from '../../../testing/folders.ts'
import { until } from '../../../testing/until.ts'
import { EXIT } from '../src/exit-codes.ts'
// Inside: errors that no request of a test can cause.
import { serverLog } from '../src/start/server-log.ts'
import {
  environmentOf,
  MAIN,
  NODE_FLAGS,
  type RunningCommand,
  startTidemark,
  tidemark,
  tidemarkJson,
} from './command.ts'
import { QUIET } from './engines.ts'

const PAGE = new URL('../../../docs/reference/http.md', import.meta.url)

type Created = { readonly name: string; readonly token: string; readonly line: string; readonly file: string | null }

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

const addressOf = async (command: RunningCommand): Promise<string> =>
  (await command.waitFor(/(http:\/\/[\d.:]+)/))[1] ?? ''

describe('tidemark token', () => {
  it('creates a token for a file that has only its hash, lists and revokes it', async () => {
    using folder = temporaryFolder()
    const file = join(folder.path, 'tokens.jsonl')
    const create = (name: string, ...more: string[]) => tidemark(['token', 'create', name, '--file', file, ...more])
    const shop = await create('shop', '--role', 'publish:orders.', '--role', 'read', '--expires', '90d')
    assert.equal(shop.code, EXIT.done, shop.err)
    assert.match(shop.out, /^tdm_[\w-]{43}\n$/)
    assert.ok(!readFileSync(file, 'utf8').includes(shop.out.trim()))
    assert.equal(statSync(file).mode & 0o777, 0o600)
    assert.equal((await create('ops', '--role', 'admin')).code, EXIT.done)
    assert.equal((await create('shop', '--role', 'read')).code, EXIT.usage)
    const { tokens } = await tidemarkJson<{ tokens: { name: string; roles: string[] }[] }>([
      'token',
      'list',
      '--file',
      file,
    ])
    assert.deepEqual(
      tokens.map(({ name, roles }) => [name, roles]),
      [
        ['shop', ['publish:orders.', 'read']],
        ['ops', ['admin']],
      ],
    )
    assert.equal((await tidemark(['token', 'revoke', 'none', '--file', file])).code, EXIT.failed)
    assert.equal((await tidemark(['token', 'revoke', 'shop', '--file', file])).code, EXIT.done)
    assert.equal((await tidemark(['token', 'revoke', 'ops', '--file', file])).code, EXIT.usage)
    assert.doesNotMatch(readFileSync(file, 'utf8'), /shop/)
  })

  it('says what is wrong with a file, and loses no token to a second command', async () => {
    using folder = temporaryFolder()
    const file = join(folder.path, 'tokens.jsonl')
    const create = (path: string) => tidemark(['token', 'create', 'a', '--role', 'read', '--file', path])
    writeFileSync(`${file}.new`, '')
    const busy = await create(file)
    assert.deepEqual([busy.code, /Another command is changing/.test(busy.err), busy.out], [EXIT.usage, true, ''])
    for (const path of [folder.path, join(folder.path, 'none', 'tokens')]) {
      const { code, err } = await create(path)
      assert.equal(code, EXIT.usage, err)
    }
    const { code, err } = await tidemark(['token', 'list', '--file', folder.path])
    assert.equal(code, EXIT.usage, err)
  })

  it('refuses invalid tokens, and then writes nothing', async () => {
    for (const args of [
      ['x'],
      ['x', '--role', 'root'],
      ['x', '--role', 'read:'],
      ['x y', '--role', 'read'],
      ['x', '--role', 'read', '--expires', 'soon'],
      ['x', '--role', 'read', '--expires', '2020-01-01T00:00:00Z'],
    ]) {
      const { code, out } = await tidemark(['token', 'create', ...args])
      assert.ok(code === EXIT.usage || code === EXIT.failed, args.join(' '))
      assert.equal(out, '')
    }
  })
})

describe('tidemark serve', () => {
  it('takes tokens from a file, rereads it, and its audit is read from the file and from the server', async () => {
    using folder = temporaryFolder()
    const database = `sqlite:${join(folder.path, 'topics.db')}`
    await (await open(database, { maintenance: false, logger: QUIET })).close()
    const file = join(folder.path, 'tokens.jsonl')
    const create = async (name: string, role: string): Promise<string> =>
      (await tidemarkJson<Created>(['token', 'create', name, '--role', role, '--file', file])).token
    const [ops, reader] = [await create('ops', 'admin'), await create('reader', 'read')]
    await using command = startTidemark([
      'serve',
      '--data',
      folder.path,
      '--port',
      '0',
      '--token-file',
      file,
      '--log',
      'json',
    ])
    const url = await addressOf(command)
    const put = (token: string) =>
      fetch(`${url}/api/v1/topics/work`, {
        method: 'PUT',
        headers: { ...bearer(token), 'content-type': 'application/json' },
        body: '{}',
      })
    assert.equal((await put(reader)).status, 403)
    assert.equal((await put(ops)).status, 200)
    assert.equal((await tidemark(['token', 'revoke', 'reader', '--file', file])).code, EXIT.done)
    await until(async () => (await put(reader)).status === 401, { what: 'the revoked token to be refused' })

    const environment = { TIDEMARK_ADMIN_TOKEN: ops }
    const asked = await tidemarkJson<{ entries: { who: string; action: string }[] }>(
      ['audit', '--server', url, '--kind', 'change'],
      { environment },
    )
    assert.deepEqual(
      asked.entries.map(({ who, action }) => [who, action]),
      [['ops', 'configureTopic']],
    )
    const wrong = await tidemark(['audit', '--server', url], { environment: { TIDEMARK_ADMIN_TOKEN: 'x' } })
    assert.deepEqual([wrong.code, /401/.test(wrong.err)], [EXIT.failed, true])
    const shown = await tidemark(['audit', '--data', folder.path, '--outcome', 'refused', '--who', 'reader'])
    assert.match(
      shown.out,
      /reader +127\.0\.0\.1 +configureTopic PUT \/api\/v1\/topics\/work +refused 403 TIDEMARK_FORBIDDEN/,
    )

    command.kill('SIGTERM')
    const { err } = await command.ended
    const lines = err
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
    assert.ok(
      lines.some(({ audit, who, action }) => audit === 'change' && who === 'ops' && action === 'configureTopic'),
    )
    assert.ok(lines.some(({ msg }) => msg === 'tokens were read again'))
    assert.ok(![ops, reader].some(token => err.includes(token)))
  })

  it('refuses an empty or weak token, and half of TLS, loudly', async () => {
    using folder = temporaryFolder()
    const database = `sqlite:${join(folder.path, 'topics.db')}`
    await (await open(database, { maintenance: false, logger: QUIET })).close()
    const serve = (environment: Record<string, string>, ...more: string[]) =>
      tidemark(['serve', '--port', '0', ...more], { database, environment })
    const empty = await serve({ TIDEMARK_ADMIN_TOKEN: '' })
    assert.deepEqual([empty.code, /TIDEMARK_ADMIN_TOKEN is empty/.test(empty.err)], [EXIT.usage, true])
    assert.notEqual((await serve({ TIDEMARK_METRICS_TOKEN: 'a'.repeat(30) })).code, EXIT.done)
    const file = join(folder.path, 'empty.jsonl')
    writeFileSync(file, '', { mode: 0o600 })
    const none = await serve({}, '--token-file', file)
    assert.deepEqual([none.code === EXIT.done, /at least one token/.test(none.err)], [false, true])
    assert.equal((await serve({}, '--tls-cert', file)).code, EXIT.usage)
    assert.equal((await serve({}, '--log', 'xml')).code, EXIT.usage)
    for (const option of ['--audit-file', '--log-file']) {
      const { code, err } = await serve({}, option, join(folder.path, 'none', 'x'))
      assert.equal(code, EXIT.usage, err)
    }
  })
})

describe('the commands of docs/reference/http.md for tokens, sessions and the audit', () => {
  it('work as they are', async () => {
    using folder = temporaryFolder()
    const database = `sqlite:${join(folder.path, 'topics.db')}`
    await (await open(database, { maintenance: false, logger: QUIET })).close()
    const file = join(folder.path, 'tokens.jsonl')
    const { token } = await tidemarkJson<Created>(['token', 'create', 'ops', '--role', 'admin', '--file', file])
    await using command = startTidemark(['serve', '--data', folder.path, '--port', '0', '--token-file', file])
    const URL = await addressOf(command)
    const page = readFileSync(PAGE, 'utf8')
    const blocks = [...page.matchAll(/```bash\n(.*?)```/gs)].map(([, text = '']) => text)
    assert.equal(blocks.length, 3)
    const program = `tidemark() { "${process.execPath}" ${NODE_FLAGS.join(' ')} "${MAIN}" "$@"; }`
    const shell = spawnSync('bash', ['-euo', 'pipefail', '-c', [program, ...blocks].join('\n')], {
      cwd: folder.path,
      env: { ...environmentOf({}), URL, TOKEN: token },
      encoding: 'utf8',
    })
    assert.equal(shell.status, 0, shell.stdout + shell.stderr)
    assert.match(shell.stdout, /^tdm_/)
    assert.match(readFileSync(file, 'utf8'), /"name":"shop".*"publish:orders\."/)
  })
})

describe("the server's log", () => {
  const logged = (format: 'pretty' | 'json', fields: object): string => {
    const lines: string[] = []
    serverLog(format, line => lines.push(line)).error(fields, 'a request failed')
    return lines.join('\n')
  }

  it('says what failed and where, for people and for programs', () => {
    const err = new Error('no room', { cause: new Error('disk full') })
    const pretty = logged('pretty', { err, method: 'PUT', route: null })
    assert.match(pretty, /^\d{4}-\S+Z ERROR a request failed method=PUT\n {4}Error: no room\n/)
    assert.match(pretty, /caused by:\n {4}Error: disk full/)
    const line = JSON.parse(logged('json', { err, method: 'PUT' }))
    assert.deepEqual(
      [line.level, line.msg, line.method, line.err.message],
      ['error', 'a request failed', 'PUT', 'no room'],
    )
    assert.equal(line.err.cause.message, 'disk full')
  })

  it('sends no control characters to the terminal and shows no password', () => {
    const err = new Error('postgres://app:hunter2@db is away \u001b[2J\u009b')
    for (const format of ['pretty', 'json'] as const) {
      const text = logged(format, { err, name: 'x\u001b]0;\u0007\u202e' })
      assert.doesNotMatch(text, /hunter2/)
      // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what must not be there
      assert.doesNotMatch(text, /[\u001b\u0007]/)
    }
  })
})
