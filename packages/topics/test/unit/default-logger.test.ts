import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { TopicNotFoundError } from '../../src/errors.ts'
import { defaultLogger } from '../../src/observe/default-logger.ts'

const MODULE = new URL('../../src/observe/default-logger.ts', import.meta.url)

function linesOf(log: (logger: ReturnType<typeof defaultLogger>) => void): Record<string, unknown>[] {
  const lines: string[] = []
  log(defaultLogger(line => lines.push(line)))
  return lines.map(line => JSON.parse(line))
}

describe('the default logger', () => {
  it("writes warnings and errors in pino's format, and nothing below", () => {
    const lines = linesOf(logger => {
      logger.debug({}, 'claimed')
      logger.info({}, 'started')
      logger.warn({ topic: 'orders' }, 'lease expired')
      logger.error({ topic: 'orders' }, 'claim failed')
    })
    assert.deepEqual(
      lines.map(({ level, name, msg, topic }) => ({ level, name, msg, topic })),
      [
        { level: 40, name: 'tidemark', msg: 'lease expired', topic: 'orders' },
        { level: 50, name: 'tidemark', msg: 'claim failed', topic: 'orders' },
      ],
    )
    assert.equal(typeof lines[0]?.time, 'number')
    assert.equal(lines[0]?.pid, process.pid)
    assert.equal(typeof lines[0]?.hostname, 'string')
  })

  it('shows an error with its code, its stack and its causes', () => {
    const cause = new Error('connection refused', { cause: new TopicNotFoundError('orders') })
    const [line] = linesOf(logger => logger.warn({ err: new Error('claim failed', { cause }) }, 'x'))
    const err = line?.err as { type: string; stack: string; cause: { message: string; cause: { code: string } } }
    assert.equal(err.type, 'Error')
    assert.match(err.stack, /default-logger\.test/)
    assert.equal(err.cause.message, 'connection refused')
    assert.equal(err.cause.cause.code, 'TIDEMARK_TOPIC_NOT_FOUND')
  })

  it('shows an error that is its own cause, and a bigint', () => {
    const error = new Error('round')
    error.cause = error
    const [line] = linesOf(logger => logger.warn({ err: error, id: 2n ** 60n }, 'x'))
    assert.equal(line?.id, '1152921504606846976')
  })

  it('has written its line even if the process ends at once', () => {
    const program = `import { defaultLogger } from '${MODULE}'\ndefaultLogger().error({}, 'last words')\nprocess.exit(3)`
    const { status, stderr } = spawnSync(process.execPath, ['--input-type=module-typescript', '--eval', program], {
      encoding: 'utf8',
      cwd: fileURLToPath(new URL('.', MODULE)),
    })
    assert.equal(status, 3)
    assert.equal(JSON.parse(stderr).msg, 'last words')
  })

  it('continues if nobody reads standard error any more', () => {
    const program = `import { defaultLogger } from '${MODULE}'\ndefaultLogger().error({}, 'unheard')\nconsole.log('went on')`
    const quoted = program.replaceAll("'", `'\\''`)
    const shell = `'${process.execPath}' --input-type=module-typescript --eval '${quoted}' 2>&-`
    const { stdout } = spawnSync('sh', ['-c', shell], { encoding: 'utf8' })
    assert.equal(stdout.trim(), 'went on')
  })
})
