import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { open } from 'tidemark'
import { temporaryFolder } from '../../../testing/folders.ts'
import { until } from '../../../testing/until.ts'
import { EXIT } from '../src/exit-codes.ts'
import { type CommandOptions, MAIN, NODE_FLAGS, RunningCommand, startTidemark, tidemark } from './command.ts'
import { ENGINES, QUIET } from './engines.ts'

const COMMAND = [process.execPath, ...NODE_FLAGS, MAIN].map(word => `'${word}'`).join(' ')
const ESCAPE = String.fromCharCode(27)
/** util-linux's; others of that name take other options. */
const hasTerminals = spawnSync('script', ['-qec', 'true', '/dev/null']).status === 0

/** In a terminal, with these answers typed into it; in the place of the shell, which would have a Ctrl-C too. */
const inTerminal = (args: string, options: CommandOptions): RunningCommand =>
  new RunningCommand('script', ['-qec', `exec ${COMMAND} ${args}`, '/dev/null'], { input: '', ...options })

for (const { engine, fresh } of ENGINES) {
  describe(`a stream, on ${engine}`, () => {
    it('continues until Ctrl-C, and ends with 130', async () => {
      await using database = await fresh()
      await using tm = await open(database.url, { maintenance: false, logger: QUIET })
      await tm.configureTopic('orders', { semantics: 'pub-sub' })
      await tm.publish('orders', 'before')
      await using tail = startTidemark(['tail', 'orders', '--last', '1', '--json'], { database: database.url })
      await tail.waitFor(/"before"/)
      await tm.publish('orders', 'after')
      await tail.waitFor(/"after"/)
      tail.kill('SIGINT')
      const { code, err } = await tail.ended
      assert.equal(code, EXIT.interrupted)
      assert.equal(err, '')
    })
  })
}

describe('a stream', () => {
  it('ends cleanly when nobody reads it any more', async () => {
    await using database = await (ENGINES[0] ?? assert.fail()).fresh()
    await using tm = await open(database.url, { maintenance: false, logger: QUIET })
    await tm.publishBatch(
      'orders',
      Array.from({ length: 900 }, (_, at) => ({ at, text: 'x'.repeat(1_000) })),
    )
    const line = `${COMMAND} tail orders --last 900 --json | head -n 1; echo "ended with \${PIPESTATUS[0]}"`
    await using both = new RunningCommand('bash', ['-c', line], { database: database.url })
    const publishing = setInterval(() => void tm.publish('orders', 'more').catch(() => undefined), 50)
    try {
      await both.waitFor(/ended with 0/)
    } finally {
      clearInterval(publishing)
    }
    assert.equal((await both.ended).err, '')
  })

  for (const command of ['tail orders --last 1', 'tail orders --last 1 --json', 'start --json --no-server']) {
    it(`ends at once when its reader has, even with nothing more to write: ${command}`, async t => {
      if (process.platform !== 'linux') return t.skip('only Linux tells whether a pipe has a reader')
      using folder = temporaryFolder()
      await using database = await (ENGINES[0] ?? assert.fail()).fresh()
      await using tm = await open(database.url, { maintenance: false, logger: QUIET })
      await tm.publish('orders', 'the only one')
      const line = `${COMMAND} ${command} | head -n 1; echo "ended with \${PIPESTATUS[0]}"`
      const options = { database: database.url, cwd: folder.path }
      await using both = new RunningCommand('bash', ['-c', line], options)
      await both.waitFor(/ended with 0/)
      assert.equal((await both.ended).err, '')
    })
  }
})

describe('a backfill', () => {
  it('is left by Ctrl-C, cancelled, and resumed to its end', async () => {
    await using database = await (ENGINES[0] ?? assert.fail()).fresh()
    await using tm = await open(database.url, { maintenance: false, logger: QUIET })
    await tm.configureTopic('orders', { semantics: 'pub-sub', tracking: 'reference', retention: 'forever' })
    await tm.publishBatch(
      'orders',
      Array.from({ length: 60 }, (_, at) => at),
    )
    await tm.reader('orders', { group: 'late', from: 'now' }).poll(0)
    const options = { database: database.url }
    const slowly = ['--batch-size', '10', '--max-per-second', '10']
    await using filling = startTidemark(['backfill', 'start', 'orders', 'late', ...slowly], options)
    const status = async () => (await tm.admin.backfill('orders', 'late'))?.status
    await until(async () => (await status()) === 'RUNNING', { what: 'the backfill to run' })
    filling.kill('SIGINT')
    const { code, err } = await filling.ended
    assert.equal(code, EXIT.interrupted, err)
    assert.match(err, /The backfill is not finished/)
    const cancelled = await tidemark(['backfill', 'cancel', 'orders', 'late'], options)
    assert.equal(cancelled.code, 0, cancelled.err)
    assert.equal(await status(), 'CANCELLED')
    const resumed = await tidemark(['backfill', 'resume', 'orders', 'late'], options)
    assert.equal(resumed.code, 0)
    assert.match(resumed.out, /100 % {2}COMPLETED {2}60 messages/)
  })
})

describe('a terminal', { skip: hasTerminals ? false : 'no script(1) of util-linux here' }, () => {
  it('has colours, and asks before irreversible actions', async () => {
    await using database = await (ENGINES[0] ?? assert.fail()).fresh()
    await using tm = await open(database.url, { maintenance: false, logger: QUIET })
    await tm.configureTopic('orders')
    const options = { database: database.url, environment: { NO_COLOR: undefined, TERM: 'xterm' } }
    const coloured = await inTerminal('doctor', options).ended
    assert.ok(coloured.out.includes(`${ESCAPE}[32mok`))
    const plain = await inTerminal('doctor', { ...options, environment: { NO_COLOR: '1', TERM: 'xterm' } }).ended
    assert.equal(plain.out, stripVTControlCharacters(plain.out))
    assert.match(plain.out, /^ok /m)

    const unsure = await inTerminal('topics delete orders', { ...options, input: 'n\n' }).ended
    assert.equal(unsure.code, EXIT.unconfirmed)
    assert.match(unsure.out, /can't be undone\. Continue\? \[y\/N\]/)
    assert.equal((await tm.admin.topics()).length, 1)
    assert.equal((await inTerminal('topics delete orders', { ...options, input: 'y\n' }).ended).code, 0)
    assert.deepEqual(await tm.admin.topics(), [])
  })

  it('shows the progress of long work, and removes it when it is done', async () => {
    await using database = await (ENGINES[0] ?? assert.fail()).fresh()
    await using tm = await open(database.url, { maintenance: false, logger: QUIET })
    await tm.configureTopic('orders')
    using folder = temporaryFolder()
    const file = join(folder.path, 'orders.jsonl')
    writeFileSync(file, '{"orderId": 7}\n'.repeat(1_500))
    const options = { database: database.url, environment: { NO_COLOR: undefined, TERM: 'xterm' } }
    const published = await inTerminal(`publish orders < ${file}`, options).ended
    assert.match(published.out, /█░* +33 % {2}500 messages/)
    assert.ok(published.out.includes(`${ESCAPE}[2K1500 messages published`))
    assert.match((await inTerminal('migrate', options).ended).out, /migrating {2}0 s/)

    // Where nobody looks it is not drawn.
    const piped = await tidemark(['publish', 'orders'], { ...options, input: '1\n2\n' })
    assert.deepEqual([piped.out, piped.err], ["2 messages published to 'orders'\n", ''])
  })
})
