import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Service, type ServiceContext } from '../../src/index.ts'
import { SILENT } from './loggers.ts'

const FAILURES = 1_000

class Failing extends Service {
  protected override async run({ report }: ServiceContext): Promise<void> {
    for (let n = 1; n <= FAILURES; n++) report(`try ${n}`, n % 2 === 0 ? `no ${n}` : new Error(`no ${n}`))
  }
}

describe('the status of a service', () => {
  it('has the last errors, and no more of them however often it fails', async () => {
    const service = new Failing('failing', SILENT)
    await service.start()
    await service.ended()
    const { state, errors } = service.status()
    assert.equal(state, 'STOPPED')
    assert.ok(errors.length > 1 && errors.length <= 100)
    assert.deepEqual([errors.at(-1)?.action, errors.at(-1)?.error.message], [`try ${FAILURES}`, `no ${FAILURES}`])
    assert.equal(errors[0]?.action, `try ${FAILURES - errors.length + 1}`)
  })
})
