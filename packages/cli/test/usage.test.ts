import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { PassThrough } from 'node:stream'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { temporaryFolder } from '../../../testing/folders.ts'
// Inside: in this process, since a process of its own costs half a second.
import { run } from '../src/cli.ts'
// Inside: the table of commands, to ask all of them.
import { COMMANDS, GROUPS } from '../src/commands.ts'
// Inside: the small parts, on words that no command has.
import { nearest } from '../src/did-you-mean.ts'
import { EXIT, EXIT_MEANINGS } from '../src/exit-codes.ts'
// Inside: the table of commands, to ask all of them.
import { commandHelp } from '../src/help.ts'
// Inside: in this process, since a process of its own costs half a second.
import { Output } from '../src/output/output.ts'
// Inside: the small parts, on words that no command has.
import { redact } from '../src/redact.ts'
import { tidemark, tidemarkProcess } from './command.ts'

describe('the help', () => {
  it('names every command and every exit code', async () => {
    const { code, out } = await tidemarkProcess(['--help'])
    assert.equal(code, 0)
    for (const { name } of [...GROUPS, ...COMMANDS])
      if (!name.includes(' ')) assert.match(out, new RegExp(`^  ${name} `, 'm'))
    for (const [name, number] of Object.entries(EXIT)) {
      assert.ok(out.includes(`${number}`.padEnd(3)))
      assert.ok(out.includes(EXIT_MEANINGS[name as keyof typeof EXIT]))
    }
  })

  it('of a group and of a command has an example', async () => {
    assert.match((await tidemark(['groups', '--help'])).out, /groups reset <topic> \[<group>\]/)
    const { code, out } = await tidemark(['groups', 'reset', '--help'])
    assert.equal(code, 0)
    assert.match(out, /--to <position> +target position: now, beginning/)
    for (const command of COMMANDS) {
      const text = commandHelp(command).join('\n')
      for (const { run } of command.examples) assert.ok(text.includes(run))
      for (const { run } of command.examples) assert.ok(run.includes(`tidemark ${command.name}`), run)
      for (const option of Object.keys(command.options)) assert.ok(text.includes(`--${option}`))
    }
  })
})

describe('the version', () => {
  it("is the package's", async () => {
    const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
    assert.equal((await tidemarkProcess(['--version'])).out, `${version}\n`)
  })
})

describe('a command that was interrupted', () => {
  it('still reports what failed while it ended', async () => {
    const stderr = new PassThrough() as PassThrough & NodeJS.WriteStream
    const output = new Output({ json: false, stdout: stderr, stderr, environment: {} })
    const code = await run(['topcs'], { output, environment: {}, interrupted: AbortSignal.abort() })
    assert.equal(code, EXIT.usage)
    assert.match(String(stderr.read()), /Unknown command 'topcs'/)
  })
})

describe('a wrong command line', () => {
  for (const [args, problem] of [
    [['topcs', 'list'], /Unknown command 'topcs'\. Did you mean 'topics'\?/],
    [['groups', 'pasue', 'orders'], /Did you mean 'pause'\?/],
    [['groups'], /'tidemark groups' requires a command: list, consumers, retries, pause/],
    [['topics', 'list', '--databse', 'sqlite:x.db'], /Unknown option --databse\. Did you mean '--database'\?/],
    [['topics', 'describe'], /requires <topic>/],
    [['topics', 'list', 'twice'], /Unexpected argument 'twice'/],
    [['topics', 'list', '--constructor'], /Unknown option --constructor/],
    [['topics', 'list', '--json=yes'], /--json takes no value/],
    [['topics', 'list', '--database='], /--database requires a value/],
    [['tail', 'orders', '--last'], /--last requires a value: --last <n>/],
    [['tail', 'orders', '--last', '1e2'], /--last must be a whole number from 1 to 1000, not '1e2'/],
    [['tail', 'orders', '--last', '1001'], /--last must be a whole number from 1 to 1000, not '1001'/],
    [['groups', 'reset', 'orders', 'email', '--to', '2026-13-45'], /--to must be a time such as .*, not '2026-13-45'/],
    [['dead-letters', 'redrive', 'orders', '--all', '--key', 'a'], /--all can't be combined/],
    [['dead-letters', 'redrive', 'orders', '1', 'x'], /<id> must be a whole number, not 'x'/],
    [['letters', 'redrive', '--all', '--kind', 'tick'], /--all can't be combined/],
    [['tail', 'orders', '--last', 'few'], /--last must be a whole number from 1 to 1000, not 'few'/],
    [['topics', 'list'], /No database given\. Use --database/],
    [['topics', 'list', '--database', 'mysql://root:hunter2@host/db'], /allowed: 'sqlite:<file>'/],
    [['topics', 'list', 'postgres://root:hunter2@host/db'], /Unexpected argument 'postgres:\/\/…@host\/db'/],
  ] as const) {
    it(`ends with 2: ${args.join(' ').replace(/:hunter2/, '')}`, async () => {
      const { code, out, err } = await tidemark(args)
      assert.equal(code, EXIT.usage)
      assert.equal(out, '')
      assert.match(err, problem)
      assert.doesNotMatch(err, /hunter2/)
    })
  }

  it('is reported as JSON to clients that accept it', async () => {
    const { code, out, err } = await tidemark(['--json', 'topics', 'lst'])
    assert.equal(code, EXIT.usage)
    assert.equal(out, '')
    assert.equal(JSON.parse(err).error.code, 'TIDEMARK_USAGE')
  })
})

describe('a database that cannot be used', () => {
  it('is an error without the password, and nothing is created', async () => {
    using folder = temporaryFolder()
    const missing = await tidemark(['topics', 'list'], { database: `sqlite:${folder.path}/none.db` })
    assert.equal(missing.code, EXIT.failed)
    assert.match(missing.err, /Namespace 'default' does not exist at .*none\.db\. .*tidemark migrate/)
    const unreachable = 'postgres://root:hunter2@127.0.0.1:1/db'
    for (const args of [
      ['topics', 'list'],
      ['migrate'],
      ['doctor'],
      ['repair', '--yes'],
      ['migrate', '--index', unreachable],
    ]) {
      const { code, out, err } = await tidemark(args, { database: unreachable })
      assert.equal(code, args[0] === 'doctor' ? EXIT.found : EXIT.failed, err)
      assert.match(out + err, /127\.0\.0\.1:1/)
      assert.doesNotMatch(out + err, /hunter2/)
    }
  })
})

describe('what is shown', () => {
  it('never has the password of an address in it', () => {
    const secret = fc.stringMatching(/^[A-Za-z0-9:@/%!$&*_-]{4,12}$/).map(text => `S${text}S`)
    fc.assert(
      fc.property(secret, fc.constantFrom('postgres', 'postgresql', 'https'), (password, scheme) => {
        const shown = redact(`Can't reach '${scheme}://user:${password}@host:5432/db?password=${password}' now`)
        assert.ok(!shown.includes(password), shown)
        assert.match(shown, /^Can't reach '.*' now$/)
      }),
    )
  })

  it('suggests a similar word, and no other', () => {
    assert.equal(nearest('tpoics', ['topics', 'tail']), 'topics')
    assert.equal(nearest('migr', ['migrate', 'repair']), 'migrate')
    assert.equal(nearest('frobnicate', ['topics', 'tail']), undefined)
  })
})

it('the exit codes are those that scripts rely on', () => {
  assert.deepEqual(EXIT, { done: 0, failed: 1, usage: 2, found: 3, unconfirmed: 4, interrupted: 130 })
})
