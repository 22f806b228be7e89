import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { temporaryFolder } from '../../../../testing/folders.ts'
import { isLong } from '../../../../testing/long.ts'
import { spawnScript } from '../../../../testing/processes.ts'
import { until } from '../../../../testing/until.ts'
import { FileSystemStorage } from '../../src/index.ts'
import { RUN_ID } from '../arbitraries.ts'

const ROUNDS = isLong ? 6 : 2
const script = (name: string): string => join(import.meta.dirname, 'scripts', name)

describe('a writer that is killed', () => {
  for (const compression of ['zstd', 'none']) {
    it(`leaves only complete batches, including all that it reported as stored (${compression})`, async () => {
      using folder = temporaryFolder()
      const storage = await FileSystemStorage.open({ root: folder.path })
      const said = new Set<string>()
      for (let round = 0; round < ROUNDS; round++) {
        await using writer = spawnScript(script('write-batches.ts'), [folder.path, `${round * 1_000_000}`, compression])
        const lines = 1 + ((round * 7) % 12)
        await until(() => writer.lines.length >= lines, { what: `${lines} batches` })
        writer.kill('SIGKILL')
        await writer.exited
        for (const line of writer.lines) said.add(line)
        // While the next one writes, too: what is listed is whole at any moment.
        await allAreWhole(storage)
      }
      const listed = await allAreWhole(storage)
      for (const key of said) assert.ok(listed.has(key), `${key} was stored before the kill`)
      assert.ok(listed.size <= said.size + ROUNDS, 'a kill between rename and answer leaves at most one more')
    })
  }

  it('leaves temporary files that are removed only when they are old', async () => {
    using folder = temporaryFolder()
    const incoming = join(folder.path, '.incoming')
    let left: string[] = []
    for (let round = 0; left.length === 0; round++) {
      assert.ok(round < 20, 'a writer is killed in the middle of a file sooner or later')
      await using writer = spawnScript(script('write-batches.ts'), [folder.path, `${round * 1_000_000}`])
      await until(() => writer.lines.length > 0 && readdirSync(incoming).length > 0, { what: 'a file on its way' })
      writer.kill('SIGKILL')
      await writer.exited
      left = readdirSync(incoming)
    }
    await FileSystemStorage.open({ root: folder.path })
    assert.deepEqual(readdirSync(incoming), left, 'its writer may be alive')
    const long = new Date(Date.now() - 2 * 60 * 60 * 1_000)
    for (const name of left) utimesSync(join(incoming, name), long, long)
    await FileSystemStorage.open({ root: folder.path })
    assert.deepEqual(readdirSync(incoming), [])
  })
})

describe('a full disk', () => {
  const flags = ['--conditions=tidemark-source', '--disable-warning=ExperimentalWarning']
  const command = `${process.execPath} ${flags.join(' ')} ${script('write-until-full.ts')}`

  function isClean(output: string): void {
    const { message, listed, ...rest } = JSON.parse(output)
    assert.deepEqual(rest, { isFull: true, incoming: [], ticksOfTheFirst: 2 }, message)
    assert.equal(listed.length, 1)
    assert.match(message, /There is no disk space to write .*batch_0000000000000000100_/)
  }

  for (const compression of ['zstd', 'none']) {
    it(`is an error that says so, and leaves nothing half-written (${compression})`, test => {
      using folder = temporaryFolder()
      // A file system of a megabyte, in a namespace of its own.
      const mount = `mount -t tmpfs -o size=1m tmpfs '${folder.path}' && ${command} '${folder.path}' ${compression}`
      const probe = spawnSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'tmpfs', folder.path])
      if (probe.status !== 0) return test.skip('this machine does not let a test mount a file system')
      const { stdout, stderr } = spawnSync('unshare', ['-rm', 'sh', '-c', mount], {
        encoding: 'utf8',
        env: environment(),
      })
      assert.equal(stderr, '')
      isClean(stdout)
    })
  }

  it('because of a file size limit is the same', () => {
    using folder = temporaryFolder()
    const limited = `trap '' XFSZ; ulimit -f 1000; exec ${command} '${folder.path}'`
    const { stdout, stderr } = spawnSync('sh', ['-c', limited], { encoding: 'utf8', env: environment() })
    assert.equal(stderr, '')
    isClean(stdout)
  })
})

describe('memory', () => {
  for (const compression of ['zstd', 'none']) {
    it(`is bounded by a few ticks, however large the file (${compression})`, async () => {
      using folder = temporaryFolder()
      await using reader = spawnScript(script('read-large.ts'), [folder.path, compression], {
        nodeFlags: ['--expose-gc'],
      })
      const report = JSON.parse(await reader.waitForLine('count', 120_000))
      assert.equal(report.count, 120)
      assert.ok(report.writing < 30_000_000, `${report.writing} bytes of buffers while writing 120 MB`)
      assert.ok(report.reading < 30_000_000, `${report.reading} bytes of buffers while reading 120 MB`)
    })
  }
})

/** Node's test runner marks its children, and these are none of them. */
function environment(): NodeJS.ProcessEnv {
  return { ...process.env, NODE_TEST_CONTEXT: undefined }
}

async function allAreWhole(storage: FileSystemStorage): Promise<Set<string>> {
  const { items, next } = await storage.listBatches({ prefix: `${RUN_ID}/` })
  assert.equal(next, null)
  for (const { key } of items) assert.equal((await storage.readBatch(key)).length, 20, key)
  return new Set(items.map(item => item.key))
}
