import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { until } from '../../../../testing/until.ts'
import {
  Service,
  type ServiceContext,
  type ServiceEvent,
  ServiceManager,
  UnknownServiceError,
} from '../../src/index.ts'
import { SILENT } from './loggers.ts'

type Behaviour = {
  /** Number of starts to reject. */
  failStarts?: number
  hangOnStart?: boolean
  hangOnStop?: boolean
}

/** Notes what happens to it in a journal that it shares with others. */
class Probe extends Service {
  readonly #journal: string[]
  readonly #behaviour: Behaviour
  #failures = 0
  readonly breaking = Promise.withResolvers<never>()
  steps = 0

  constructor(name: string, journal: string[], behaviour: Behaviour = {}) {
    super(name, SILENT)
    this.#journal = journal
    this.#behaviour = behaviour
    this.breaking.promise.catch(() => {})
  }

  protected override async prepare(): Promise<void> {
    if (this.#behaviour.hangOnStart) await new Promise(() => {})
    if (this.#failures++ < (this.#behaviour.failStarts ?? 0)) throw new Error(`${this.name} can't`)
    this.#journal.push(`start ${this.name}`)
  }

  protected override async run({ signal, unpaused }: ServiceContext): Promise<void> {
    while (!signal.aborted) {
      await unpaused()
      this.steps++
      await Promise.race([new Promise(resolve => setImmediate(resolve)), this.breaking.promise])
    }
    if (this.#behaviour.hangOnStop) await new Promise(() => {})
    this.#journal.push(`stop ${this.name}`)
  }
}

function probes(journal: string[], behaviours: Record<string, Behaviour>): Map<string, Probe> {
  const all = Object.entries(behaviours).map(([name, behaviour]) => new Probe(name, journal, behaviour))
  return new Map(all.map(probe => [probe.name, probe]))
}

function managerOf(services: Map<string, Probe>, options: { startTimeoutMs?: number; stopTimeoutMs?: number } = {}) {
  return new ServiceManager({ services: [...services.values()], logger: SILENT, ...options })
}

const statesOf = (manager: ServiceManager) => manager.status().map(({ name, state }) => `${name} ${state}`)

describe('the services of a pipeline', () => {
  it('start in their order and stop in reverse', async () => {
    const journal: string[] = []
    const manager = managerOf(probes(journal, { a: {}, b: {}, c: {} }))
    assert.deepEqual(await manager.start(), { started: ['a', 'b', 'c'], waiting: [], failed: [] })
    await manager.stop()
    assert.deepEqual(journal, ['start a', 'start b', 'start c', 'stop c', 'stop b', 'stop a'])
  })

  it('stop twice, at once or one after the other, as if once', async () => {
    const journal: string[] = []
    const manager = managerOf(probes(journal, { a: {}, b: {} }))
    await manager.start()
    await Promise.all([manager.stop(), manager.stop()])
    await manager.stop()
    assert.deepEqual(journal, ['start a', 'start b', 'stop b', 'stop a'])
  })

  it('may be stopped before they were started, and start after that', async () => {
    const journal: string[] = []
    await using manager = managerOf(probes(journal, { a: {} }))
    await manager.stop()
    assert.deepEqual(statesOf(manager), ['a STOPPED'])
    await manager.start()
    assert.deepEqual(statesOf(manager), ['a RUNNING'])
  })

  it('start once when asked twice at the same time', async () => {
    const journal: string[] = []
    await using manager = managerOf(probes(journal, { a: {} }))
    await Promise.all([manager.start(), manager.start(), manager.start('a')])
    assert.deepEqual(journal, ['start a'])
  })

  it('start once also without a manager, and can be stopped while they start', async () => {
    const journal: string[] = []
    const probe = new Probe('a', journal)
    await Promise.all([probe.start(), probe.start()])
    await probe.stop()
    assert.deepEqual(journal, ['start a', 'stop a'])
    await Promise.all([probe.start(), probe.stop()])
    assert.equal(probe.state, 'STOPPED')
  })

  it('are refused under an unknown name', async () => {
    await using manager = managerOf(probes([], { a: {}, b: {} }))
    await assert.rejects(manager.start('x'), UnknownServiceError)
    await assert.rejects(manager.restart('x'), /There is no service 'x'\. There is: a, b/)
  })
})

describe('a service that hangs', () => {
  it('is abandoned in ERROR after its stop timeout, and the others stop', async () => {
    const journal: string[] = []
    const manager = managerOf(probes(journal, { a: {}, hung: { hangOnStop: true }, c: {} }), { stopTimeoutMs: 50 })
    await manager.start()
    await manager.stop()
    assert.deepEqual(statesOf(manager), ['a STOPPED', 'hung ERROR', 'c STOPPED'])
    assert.match(manager.statusOf('hung').errors[0]?.error.message ?? '', /did not stop within 50 ms/)
  })

  it('at its start is reported, and those after it start', async () => {
    const services = probes([], { hung: { hangOnStart: true }, b: {} })
    const manager = managerOf(services, { startTimeoutMs: 50, stopTimeoutMs: 50 })
    const { started, failed } = await manager.start()
    assert.deepEqual(started, ['b'])
    assert.match(failed[0]?.error.message ?? '', /'hung' did not start within 50 ms/)
    // It may yet start, and then it does.
    assert.deepEqual(statesOf(manager), ['hung STARTING', 'b RUNNING'])
    assert.equal(manager.statusOf('hung').healthy, false)
    await manager.stop()
    assert.deepEqual(statesOf(manager), ['hung STOPPED', 'b STOPPED'])
  })
})

describe('a failure of one service', () => {
  it('at its start affects only that service', async () => {
    await using manager = managerOf(probes([], { a: {}, bad: { failStarts: 1 }, c: {} }))
    const { started, failed } = await manager.start()
    assert.deepEqual([started, failed.map(({ service }) => service)], [['a', 'c'], ['bad']])
    assert.deepEqual(statesOf(manager), ['a RUNNING', 'bad ERROR', 'c RUNNING'])
    assert.deepEqual(
      manager.statusOf('bad').errors.map(({ action, error }) => `${action}: ${error.message}`),
      ["start: bad can't"],
    )
    assert.deepEqual(await manager.start('bad'), { started: ['bad'], waiting: [], failed: [] })
    assert.equal(manager.statusOf('bad').healthy, true)
  })

  it('while it runs affects only that service, and is reported', async () => {
    const services = probes([], { a: {}, bad: {} })
    await using manager = managerOf(services)
    const events: ServiceEvent[] = []
    manager.listen(event => events.push(event))
    manager.listen(() => {
      throw new Error('A listener that throws')
    })
    await manager.start()
    services.get('bad')?.breaking.reject(new Error('it broke'))
    await until(() => manager.statusOf('bad').state === 'ERROR', { what: 'the failure to show' })
    const steps = services.get('a')?.steps ?? 0
    await until(() => (services.get('a')?.steps ?? 0) > steps, { what: 'the other one to go on' })
    const ofBad = events.filter(({ service }) => service === 'bad')
    assert.deepEqual(
      ofBad.map(event => (event.type === 'state' ? event.state : event.type === 'error' ? event.error.message : '')),
      ['STARTING', 'RUNNING', 'it broke', 'ERROR'],
    )
  })

  it('when it is built affects only that service', async () => {
    let builds = 0
    const journal: string[] = []
    const plan = {
      name: 'planned',
      create: async () => {
        if (builds++ === 0) throw new Error('no such database')
        return new Probe('planned', journal)
      },
    }
    await using manager = new ServiceManager({ services: [plan, new Probe('b', journal)], logger: SILENT })
    assert.deepEqual((await manager.start()).started, ['b'])
    assert.deepEqual(statesOf(manager), ['planned ERROR', 'b RUNNING'])
    assert.equal(manager.statusOf('planned').errors[0]?.action, 'build')
    await manager.start('planned')
    assert.deepEqual(statesOf(manager), ['planned RUNNING', 'b RUNNING'])
  })
})

describe('one service alone', () => {
  it('is restarted', async () => {
    const journal: string[] = []
    await using manager = managerOf(probes(journal, { a: {}, b: {}, c: {} }))
    await manager.start()
    await manager.restart('b')
    assert.deepEqual(journal.slice(3), ['stop b', 'start b'])
    assert.deepEqual(statesOf(manager), ['a RUNNING', 'b RUNNING', 'c RUNNING'])
  })

  it('is paused and resumed, and can be stopped while it is paused', async () => {
    const services = probes([], { a: {}, b: {} })
    await using manager = managerOf(services)
    await manager.start()
    manager.pause('a')
    assert.deepEqual(statesOf(manager), ['a PAUSED', 'b RUNNING'])
    const b = services.get('b') as Probe
    const a = services.get('a') as Probe
    const [before, steps] = [b.steps, a.steps]
    await until(() => b.steps > before + 10, { what: 'the other one to go on' })
    assert.ok(a.steps <= steps + 1, 'it finishes at most the step it was at')
    manager.resume('a')
    await until(() => a.steps > steps + 1, { what: 'it to go on' })
    manager.pause()
    assert.deepEqual(statesOf(manager), ['a PAUSED', 'b PAUSED'])
    await manager.stop()
    assert.deepEqual(statesOf(manager), ['a STOPPED', 'b STOPPED'])
  })
})
