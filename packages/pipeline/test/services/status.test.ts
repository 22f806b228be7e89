import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { until } from '../../../../testing/until.ts'
import { Service, type ServiceContext, type ServiceEvent } from '../../src/index.ts'
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

const AWAY = Object.assign(new Error('The mount is gone'), { code: 'EIO', syscall: 'read' })

/** Does what the test tells it, one step after the other. */
class Obedient extends Service {
  readonly #steps: ((context: ServiceContext) => unknown)[] = []
  #wake = (): void => {}
  prepares = 0
  releases = 0
  preparing: () => Promise<void> = async () => {}

  tell(step: (context: ServiceContext) => unknown): void {
    this.#steps.push(step)
    this.#wake()
  }

  protected override async prepare(): Promise<void> {
    this.prepares++
    await this.preparing()
  }

  protected override async release(): Promise<void> {
    this.releases++
  }

  protected override async run(context: ServiceContext): Promise<void> {
    context.signal.addEventListener('abort', () => this.#wake(), { once: true })
    while (!context.signal.aborted) {
      const step = this.#steps.shift()
      if (step === undefined) {
        await new Promise<void>(resolve => {
          this.#wake = resolve
        })
      }
      await step?.(context)
    }
  }
}

describe('the health of a service', () => {
  it('lists failed operations; a success removes the errors of its operation', async () => {
    await using service = new Obedient('obedient', SILENT)
    const events: ServiceEvent[] = []
    service.listen(event => events.push(event))
    await service.start()
    service.tell(({ report }) => {
      report('read', new Error('No'), 'a')
      report('read', new Error('No'), 'b')
      report('write', new Error('Never'))
    })
    await until(() => service.status().errors.length === 3, { what: 'three errors' })
    assert.equal(service.status().healthy, false)
    service.tell(({ succeeded }) => succeeded('read'))
    await until(() => service.status().errors.length === 1, { what: 'those of reading to go' })
    assert.deepEqual([service.status().healthy, service.status().errors[0]?.action], [false, 'write'])
    service.tell(({ succeeded }) => succeeded('write'))
    await until(() => service.status().healthy, { what: 'it to be well' })
    assert.deepEqual(service.status().errors, [])
    const recovered = events.filter(({ type }) => type === 'recovered')
    assert.deepEqual(
      recovered.map(event => event.type === 'recovered' && event.action),
      ['read', 'write'],
    )
  })

  it('is cleared by people, and false again with the next failure', async () => {
    await using service = new Obedient('obedient', SILENT)
    await service.start()
    const fail = ({ report }: ServiceContext): void => report('write', new Error('Never'))
    service.tell(fail)
    await until(() => !service.status().healthy, { what: 'a failure' })
    service.clearErrors()
    assert.deepEqual([service.status().healthy, service.status().errors], [true, []])
    service.tell(fail)
    await until(() => !service.status().healthy, { what: 'the next failure' })
  })

  it('stays false for one operation however often another fails and succeeds', async () => {
    await using service = new Obedient('obedient', SILENT)
    await service.start()
    service.tell(({ report, succeeded }) => {
      report('write', new Error('Never'))
      for (let n = 0; n < 50; n++) report('read', new Error(`No ${n}`))
      succeeded('read')
    })
    await until(() => !service.status().healthy, { what: 'the failures' })
    service.tell(({ note }) => note('an oddity', new Error('Nothing to worry about')))
    service.tell(({ succeeded }) => succeeded('nothing'))
    assert.equal(service.status().healthy, false)
    service.tell(({ succeeded }) => succeeded('write'))
    await until(() => service.status().healthy, { what: 'it to be well' })
  })

  it('outlives its end: one that could not do its last step is STOPPED and unhealthy', async () => {
    const service = new Obedient('obedient', SILENT)
    await service.start()
    service.tell(({ report }) => report('last flush', new Error('No')))
    await until(() => !service.status().healthy, { what: 'the failure' })
    await service.stop()
    assert.deepEqual([service.state, service.status().healthy], ['STOPPED', false])
    await service.start()
    assert.equal(service.status().healthy, true)
    await service.stop()
  })
})

describe('a service whose environment is unavailable', () => {
  it('at its start keeps it STARTING, shows what for, and it continues by itself', async () => {
    await using service = new Obedient('obedient', SILENT)
    const states: string[] = []
    service.listen(event => event.type === 'state' && states.push(event.state))
    let isAway = true
    service.preparing = async () => {
      if (isAway) throw AWAY
    }
    await service.start()
    const { state, healthy, waitingFor } = service.status()
    assert.deepEqual([state, healthy, waitingFor], ['STARTING', false, 'The mount is gone'])
    await until(() => service.prepares > 2, { what: 'more tries' })
    // Starting what starts is fine.
    await service.start()
    isAway = false
    await until(() => service.state === 'RUNNING', { what: 'it to go on' })
    assert.deepEqual([service.status().healthy, service.status().waitingFor], [true, null])
    assert.deepEqual(states, ['STARTING', 'RUNNING'])
  })

  it('when it starts stops at once, also while its environment does not answer, and starts again', async () => {
    const service = new Obedient('obedient', SILENT)
    service.preparing = () => Promise.reject(AWAY)
    await service.start()
    await service.stop({ timeoutMs: 1_000 })
    assert.equal(service.state, 'STOPPED')
    const silence = Promise.withResolvers<void>()
    service.preparing = () => silence.promise
    const starting = service.start()
    await until(() => service.state === 'STARTING', { what: 'it to start' })
    await service.stop({ timeoutMs: 1_000 })
    await starting
    assert.deepEqual([service.state, service.releases], ['STOPPED', 0])
    // What it had prepared after all is released.
    silence.resolve()
    await until(() => service.releases === 1, { what: 'what was prepared to be released' })
    service.preparing = async () => {}
    await service.start()
    assert.equal(service.state, 'RUNNING')
    await service.stop()
  })

  it('while it runs is WAITING, and a pause shows as one', async () => {
    await using service = new Obedient('obedient', SILENT)
    await service.start()
    let isAway = true
    let tries = 0
    service.tell(({ through }) =>
      through('read', async () => {
        tries++
        if (isAway) throw AWAY
      }),
    )
    await until(() => service.state === 'WAITING' && tries > 2, { what: 'it to wait' })
    service.pause()
    assert.equal(service.state, 'PAUSED')
    service.resume()
    isAway = false
    await until(() => service.state === 'RUNNING' && service.status().healthy, { what: 'it to go on' })
  })

  it('is in ERROR if the problem is permanent', async () => {
    const service = new Obedient('obedient', SILENT)
    let error: Error = AWAY
    service.preparing = () => Promise.reject(error)
    await service.start()
    error = new Error('No such option')
    await until(() => service.state === 'ERROR', { what: 'the failure' })
    assert.equal(service.status().healthy, false)
    await assert.rejects(service.start(), /No such option/)
  })
})
