import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { CONFIG_TEMPLATE, contractsRegistry, DeadLetterQueue, listIndexedRuns } from '@tidemark/pipeline'
import { open } from 'tidemark'
import { migratedDatabase, temporaryFolder } from '../../../testing/databases.ts'
import { journeyOn } from '../../../testing/long.ts'
import { until } from '../../../testing/until.ts'
import { SMALL_AND_STEADY } from '../../pipeline/test/whole/world.ts'
import { EXIT } from '../src/exit-codes.ts'
import { startTidemark, tidemark, tidemarkHere, tidemarkJson } from './command.ts'
import { QUIET } from './engines.ts'

const PASSWORD = 'hunter2'

describe('tidemark config', () => {
  it('init writes a valid configuration, and never overwrites one', async () => {
    using folder = temporaryFolder()
    const cwd = folder.path
    assert.equal((await tidemark(['config', 'init'], { cwd })).code, EXIT.done)
    assert.equal(readFileSync(join(cwd, 'tidemark.config.ts'), 'utf8'), CONFIG_TEMPLATE)
    const checked = await tidemark(['config', 'check'], { cwd })
    assert.deepEqual([checked.code, checked.err], [EXIT.done, ''])
    assert.match(checked.out, /no mistakes\. 9 services/)
    writeFileSync(join(cwd, 'tidemark.config.ts'), '// mine')
    const again = await tidemark(['config', 'init'], { cwd })
    assert.equal(again.code, EXIT.failed)
    assert.match(again.err, /already exists and was not changed/)
    assert.equal(readFileSync(join(cwd, 'tidemark.config.ts'), 'utf8'), '// mine')
  })

  it('check reports every mistake, and exits with 3', async () => {
    using folder = temporaryFolder()
    const config = join(folder.path, 'mine.ts')
    writeFileSync(config, CONFIG_TEMPLATE.replace("topicRead('batch-topic'", "topicRead('batch-topc'"))
    const { code, out } = await tidemark(['config', 'check', '--config', config])
    assert.equal(code, EXIT.found)
    assert.match(out, /1 mistake\n {2}Topic 'batch-topc' is read by dummy-indexer, .* Did you mean 'batch-topic'\?/)
  })

  const BROKEN: readonly [what: string, file: string, source: string, says: RegExp][] = [
    ['a syntax error', 'a.ts', 'export default {', /a\.ts: it could not be loaded: SyntaxError/],
    [
      'an error while it is loaded',
      'e.ts',
      'const services = {}\nexport default { services: servces }',
      /e\.ts: it could not be loaded: ReferenceError: servces is not defined \(e\.ts, line 2\)/,
    ],
    ['no default export', 'b.ts', 'export const x = 1', /b\.ts: it has no default export/],
    [
      'nothing to run, in CommonJS',
      'c.cjs',
      "module.exports = require('@tidemark/pipeline').defineConfig({ services: {} })",
      /There is no service to run/,
    ],
    [
      'a module that is not there',
      'd.ts',
      "export default { services: { a: { type: './none.ts' } } }",
      /none\.ts: it could not be loaded/,
    ],
  ]
  for (const [what, name, source, says] of BROKEN) {
    it(`start refuses a file with ${what}, and says which`, async () => {
      using folder = temporaryFolder()
      writeFileSync(join(folder.path, name), source)
      const { code, err } = await tidemarkHere(['start', '--config', join(folder.path, name)])
      assert.equal(code, EXIT.failed)
      assert.match(err, says)
      assert.deepEqual(readdirSync(folder.path), [name])
    })
  }

  it('names the line of a service type that cannot be parsed', async () => {
    using folder = temporaryFolder()
    const cwd = folder.path
    writeFileSync(join(cwd, 'broken.ts'), '\n\nexport default {')
    writeFileSync(join(cwd, 'mine.ts'), "export default { services: { a: { type: './broken.ts' } } }")
    const { code, err } = await tidemarkHere(['start', '--config', join(cwd, 'mine.ts')])
    assert.equal(code, EXIT.failed)
    assert.match(err, /broken\.ts: it could not be loaded: SyntaxError: .* \(broken\.ts, line 3\)/)
  })

  it('print shows the effective settings, relative to the file, and no password', async () => {
    using folder = temporaryFolder()
    const config = join(folder.path, 'mine.ts')
    const url = `postgres://me:${PASSWORD}@db.internal/tidemark?sslpassword=${PASSWORD}`
    writeFileSync(config, CONFIG_TEMPLATE.replace("'sqlite:./data/topics.db'", `'${url}'`))
    const environment = { TIDEMARK_PIPELINE__SERVICES__SIMULATION__TICKS_PER_SECOND: '7' }
    for (const format of [[], ['--json']]) {
      const { code, out, err } = await tidemark(['config', 'print', '--config', config, ...format], { environment })
      assert.equal(code, EXIT.done, err)
      assert.ok(!out.includes(PASSWORD), out)
      assert.match(out, /postgres:\/\/…@db\.internal\/tidemark/)
      assert.match(out, /ticksPerSecond"?: ?7/)
      assert.match(out, /topicRead\('batch-topic', \{ consumerGroup: 'environment' \}\)/)
      assert.ok(out.includes(join(folder.path, 'data/storage')))
    }
  })
})

describe('tidemark start with a configuration', () => {
  it('runs the one of its folder, with the server, and says so', async () => {
    using folder = temporaryFolder()
    writeFileSync(join(folder.path, 'tidemark.config.ts'), CONFIG_TEMPLATE)
    await using command = startTidemark(['start', '--port', '0'], { cwd: folder.path, environment: SMALL_AND_STEADY })
    await command.waitFor(/^configuration tidemark\.config\.ts$/m)
    const [, address] = await command.waitFor(/serving (http:\/\/[\d.:]+)/)
    const status = await (await fetch(`${address}/api/v1/pipeline`)).json()
    const names = (status as { services: { name: string }[] }).services.map(({ name }) => name)
    assert.ok(names.includes('environment-indexer'))
    const second = await tidemark(['start', '--port', '0'], { cwd: folder.path, environment: SMALL_AND_STEADY })
    assert.equal(second.code, EXIT.failed)
    assert.match(second.err, /is in use by another process/)
    command.kill('SIGINT')
    assert.equal((await command.ended).code, EXIT.done)
    assert.ok(existsSync(join(folder.path, 'data/topics.db')))
  })

  it('--only lists the services, and what would not work alone', async () => {
    using folder = temporaryFolder()
    const config = join(folder.path, 'tidemark.config.ts')
    writeFileSync(config, CONFIG_TEMPLATE)
    const unknown = await tidemarkHere(['start', '--config', config, '--only', 'enviroment-indexer'])
    assert.equal(unknown.code, EXIT.usage)
    assert.match(unknown.err, /There is no service 'enviroment-indexer'\. Did you mean 'environment-indexer'\?/)
    const alone = await tidemarkHere(['start', '--config', config, '--only', 'simulation'])
    assert.equal(alone.code, EXIT.failed)
    assert.match(alone.err, /Queue 'ticks' is filled by simulation.* persistence reads from it, but does not run here/)
  })

  it('says which folder it cannot write to', async () => {
    using folder = temporaryFolder()
    const config = join(folder.path, 'tidemark.config.ts')
    writeFileSync(config, CONFIG_TEMPLATE)
    // Not a missing permission: root has them all.
    writeFileSync(join(folder.path, 'data'), 'in the way')
    const { code, err } = await tidemarkHere(['start', '--config', config, '--no-server'])
    assert.equal(code, EXIT.failed)
    assert.match(err, /data\/simulation can't be written to \(ENOTDIR\)/)
  })

  it('accepts a folder with a configuration in it', async () => {
    using folder = temporaryFolder()
    const missing = await tidemark(['config', 'check', '--config', folder.path])
    assert.match(missing.out, /it is a folder without tidemark\.config\.ts/)
    writeFileSync(join(folder.path, 'tidemark.config.ts'), CONFIG_TEMPLATE)
    assert.equal((await tidemark(['config', 'check', '--config', folder.path])).code, EXIT.done)
  })
})

type ConfiguredPipeline = AsyncDisposable & {
  readonly config: string
  readonly topics: string
  readonly index: string
  readonly folder: string
}

/** A configuration on each engine. */
async function place(engine: 'SQLite' | 'PostgreSQL'): Promise<ConfiguredPipeline> {
  const folder = temporaryFolder()
  const config = join(folder.path, 'tidemark.config.ts')
  const data = join(folder.path, 'data')
  mkdirSync(data)
  const server = engine === 'PostgreSQL' ? await migratedDatabase() : undefined
  const topics = server?.url ?? `sqlite:${join(data, 'topics.db')}`
  const index = server?.url ?? `sqlite:${join(data, 'index')}`
  const source = CONFIG_TEMPLATE.replace("'sqlite:./data/topics.db'", JSON.stringify(topics))
  writeFileSync(config, source.replace("'sqlite:./data/index'", JSON.stringify(index)))
  return {
    ...{ config, topics, index, folder: folder.path },
    async [Symbol.asyncDispose]() {
      folder[Symbol.dispose]()
      await server?.drop()
    },
  }
}

for (const engine of (['SQLite', 'PostgreSQL'] as const).filter(journeyOn('SQLite'))) {
  describe(`tidemark runs remove, on ${engine}`, () => {
    it('refuses a run in use, then removes all of it and nothing of another', async () => {
      await using where = await place(engine)
      const { config, folder, topics: url } = where
      const start = (...args: string[]) =>
        startTidemark(['start', '--config', config, '--no-server', '--json', '--new', ...args], {
          environment: SMALL_AND_STEADY,
        })
      const ran = async (...args: string[]): Promise<string> => {
        await using command = start(...args)
        const { code, err } = await command.ended
        assert.equal(code, EXIT.done, err)
        return JSON.parse(command.out.split('\n')[0] ?? '').runId
      }
      const kept = await ran('--ticks', '20')
      await using running = start()
      await running.waitFor(/"event":"begun"/)
      const { runId } = JSON.parse(running.out.split('\n')[0] ?? '')
      // Then there is something of everything: files, announcements, rows.
      await until(() => /"indexedTicks":[1-9]/.test(running.out), { what: 'ticks in its index', timeout: 60_000 })
      const remove = (run: string, ...args: string[]) => tidemark(['runs', 'remove', run, '--config', config, ...args])

      const inUse = await remove(runId, '--yes')
      assert.equal(inUse.code, EXIT.failed)
      assert.match(inUse.err, new RegExp(`Run ${runId} is in use: .*its simulation is running`))
      // By who indexes it, too: on another machine there is no lock to be seen.
      assert.match(inUse.err, engine === 'SQLite' ? /has its index open/ : /'\w+' (works on it|sent a heartbeat)/)
      running.kill('SIGKILL')
      await running.ended

      const letter = { messageType: 'tidemark.pipeline.v1.BatchInfo', failureReason: 'for the test', retryCount: 1 }
      {
        await using topics = await open(url, { registry: contractsRegistry, maintenance: false, logger: QUIET })
        const letters = await DeadLetterQueue.open(topics, { topic: 'indexer-dead-letters' })
        const about = (run: string) => ({
          ...letter,
          originalMessage: new TextEncoder().encode(`\n${String.fromCharCode(run.length)}${run}`),
          ...{ sourceService: 'dummy', firstFailureAt: 0, lastFailureAt: 0, stackTraceLines: [] },
        })
        await letters.put([about(runId), about(kept), about(runId)])
      }

      // Killed, so that nobody has said goodbye: what can be told at once is told by process id and lock.
      const asked = await until(
        async () => {
          const answer = await remove(runId)
          return answer.code === EXIT.unconfirmed && answer
        },
        { what: 'the run to be free', timeout: 60_000 },
      )
      for (const part of [
        /files, .* in .*storage/,
        /topic batch-topic\./,
        /topic metadata-topic\./,
        /index in /,
        /saved states in /,
        /2 dead letters/,
      ]) {
        assert.match(asked.err, part)
      }
      assert.ok(existsSync(join(folder, 'data/storage', runId)))
      const { code, err } = await remove(runId, '--yes')
      assert.equal(code, EXIT.done, err)

      assert.deepEqual(
        readdirSync(join(folder, 'data/storage')).filter(name => !name.startsWith('.')),
        [kept],
      )
      assert.ok(!existsSync(join(folder, 'data/simulation', runId)))
      assert.deepEqual(await listIndexedRuns(where.index), [kept])
      await using topics = await open(url, { registry: contractsRegistry, maintenance: false, logger: QUIET })
      const names = (await topics.admin.topics()).map(({ topic }) => topic)
      assert.deepEqual(names.sort(), [
        `batch-topic.${kept}`,
        'dead-letters',
        'indexer-dead-letters',
        `metadata-topic.${kept}`,
      ])
      assert.equal(await (await DeadLetterQueue.open(topics, { topic: 'indexer-dead-letters' })).count(), 1)
      const runs = await tidemarkJson<{ runId: string }[]>(['runs', '--config', config])
      assert.deepEqual(
        runs.map(run => run.runId),
        [kept],
      )

      const gone = await remove(runId, '--yes')
      assert.equal(gone.code, EXIT.failed)
      assert.match(gone.err, /has no data/)
    })
  })
}
