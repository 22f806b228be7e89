import assert from 'node:assert/strict'
import { type Among, type Command, GROUPS, type Scenario, type SettleCommand } from './commands.ts'
import { type Claimed, type Group, type Lease, Model, type Plan } from './model.ts'
import { Subject } from './subject.ts'
import type { TestStore } from './test-store.ts'

/** Runs all commands on the model and on every store, then drains; any difference from the model is an error. */
export async function runScenario(stores: readonly TestStore[], topic: string, scenario: Scenario): Promise<number> {
  const subjects = await Promise.all(stores.map(store => Subject.create(store, topic, scenario)))
  const run = new ScenarioRun(scenario, subjects)
  for (const [index, command] of scenario.commands.entries()) {
    await run.step(`command ${index + 1}, ${JSON.stringify(command)}`, command)
  }
  await run.drain()
  return run.steps
}

/** Steps between two comparisons of counts and dead letters: a comparison costs as much as a step. */
const COMPARE_EVERY = 3

class ScenarioRun {
  steps = 0
  readonly #scenario: Scenario
  readonly #model: Model
  readonly #subjects: readonly Subject[]
  /** Leases whose consumer crashed: nobody settles them, unless it comes back from the dead. */
  readonly #orphans = new Set<Lease>()
  /** Leases that the database was told to forget: they are never settled again. */
  readonly #forgotten = new Set<Lease>()
  #deadLetters = 0
  /**
   * A page may be shorter than its limit (on PostgreSQL it ends with its window), but not empty while there are
   * messages. So one store claims first, and the others are asked for as many.
   */
  readonly #leader: Subject
  #step = ''

  constructor(scenario: Scenario, subjects: readonly Subject[]) {
    const leader = subjects.at(-1)
    assert.ok(leader)
    this.#leader = leader
    this.#scenario = scenario
    this.#model = new Model(scenario.maxAttempts)
    this.#subjects = subjects
  }

  async step(name: string, command: Command): Promise<void> {
    this.#step = name
    this.steps++
    await this.#do(command)
    if (this.steps % COMPARE_EVERY === 0) await this.#compare()
  }

  /** Faults stop: all leases expire, all retries become due, and every message reaches an end state. */
  async drain(): Promise<void> {
    await this.step('drain', { do: 'run out', lease: 'all' })
    for (const name of this.#model.groups.keys()) {
      await this.step(`drain ${name}`, { do: 'resume', group: indexOf(name) })
      await this.step(`drain ${name}`, { do: 'make due', group: indexOf(name) })
    }
    await this.#drainGroups()
    await this.#compare()
    for (const { backlog, inFlight, retries } of this.#model.describe().groups) {
      assert.equal(backlog + inFlight + retries, 0)
    }
    await this.#watermarksToArrive()
    for (const subject of this.#subjects) subject.ledger.close()
  }

  async #drainGroups(): Promise<void> {
    for (const name of this.#model.groups.keys()) {
      const most = 10 + this.#model.published * 2
      for (let claims = 0; await this.#drainOne(name); claims++) assert.ok(claims < most, `${name} never ends`)
    }
  }

  /** Transactions that were open at a group's last look hold its watermark back until the group moves on. */
  async #watermarksToArrive(): Promise<void> {
    const goals = await Promise.all(this.#subjects.map(async subject => ({ subject, goal: await subject.goal() })))
    const below = async (): Promise<string[]> =>
      (await Promise.all(goals.map(({ subject, goal }) => subject.groupsBelow(goal)))).flat()
    for (let tries = 0; tries < 3 && (await below()).length > 0; tries++) {
      await this.step('drain', { do: 'publish', messages: [null] })
      await this.#drainGroups()
    }
    assert.deepEqual(await below(), [], 'watermarks that are stuck')
  }

  async #drainOne(group: string): Promise<boolean> {
    const before = this.#model.leases.length
    const flags = { suspects: 'alone', sweep: true, forget: false, shared: false } as const
    await this.step(`drain ${group}`, { do: 'claim', group: indexOf(group), consumer: 0, limit: 4, ...flags })
    if (this.#model.leases.length === before) return false
    await this.#settle([{ lease: before, plan: { acks: 'all', nacks: [], releases: [] } }])
    return true
  }

  async #do(command: Command): Promise<void> {
    if (command.do === 'publish') return await this.#publish(command.messages)
    if (command.do === 'subscribe') return await this.#subscribe(this.#nameOf(command.group), command.from)
    if (command.do === 'claim') return await this.#claim(command)
    if (command.do === 'settle') return await this.#settleChosen(command.of, command.again)
    if (command.do === 'extend') return await this.#extend(this.#choose(command.lease, command.among))
    if (command.do === 'run out') return await this.#runOut(command.lease)
    if (command.do === 'crash') return this.#crash(`consumer-${command.consumer}`)
    if (command.do === 'restart') return await this.#each(subject => subject.restart(), undefined)

    const group = this.#model.groups.get(this.#nameOf(command.group))
    if (group === undefined) return
    if (command.do === 'make due') return await this.#makeDue(group)
    if (command.do === 'forget closed') return await this.#forgetClosed(group)
    const status = command.do === 'pause' ? 'PAUSED' : 'ACTIVE'
    await this.#each(subject => subject.setStatus(group.name, status), this.#model.setStatus(group, status))
  }

  async #publish(messages: readonly (number | null)[]): Promise<void> {
    const predicted = this.#model.publish(messages)
    const numbers = predicted.map(({ n, duplicate }) => (duplicate ? -1 : n))
    await this.#each(subject => subject.publish(numbers, messages), predicted)
  }

  async #subscribe(name: string, wanted: 'beginning' | 'now'): Promise<void> {
    const from = this.#scenario.semantics === 'queue' ? 'beginning' : wanted
    const first = from === 'now' ? this.#model.published : 0
    await this.#each(subject => subject.subscribe(name, wanted, first), this.#model.subscribe(name, from))
  }

  async #claim({ group, consumer, forget, ...flags }: Command & { do: 'claim' }): Promise<void> {
    const name = this.#nameOf(group)
    if (!this.#model.groups.has(name)) await this.#subscribe(name, 'beginning')
    const finished = forget ? this.#finishedLeases(name) : []
    for (const lease of finished) this.#forgotten.add(lease)
    const numbers = finished.map(lease => this.#model.leases.indexOf(lease))
    const wanted = { ...flags, consumer: `consumer-${consumer}` }
    const rest = { forget: numbers, isLate: this.#model.hasFreshRetries(this.#group(name)) }
    const led = await this.#named(this.#leader, () => this.#leader.claim(name, wanted, rest))
    const plan = { ...wanted, limit: pageSize(led) ?? wanted.limit }
    const predicted = this.#model.claim(this.#group(name), plan)
    await this.#each(
      async subject => (subject === this.#leader ? led : await subject.claim(name, plan, rest)),
      predicted,
    )
  }

  async #settleChosen(commands: readonly SettleCommand[], again: boolean): Promise<void> {
    const plans = commands.flatMap(({ lease, among, fates }) => {
      const chosen = this.#choose(lease, among)
      return chosen === undefined ? [] : [{ lease: this.#model.leases.indexOf(chosen), plan: planOf(chosen, fates) }]
    })
    if (plans.length === 0) return
    await this.#settle(plans)
    if (again) await this.#settle(plans)
  }

  async #settle(plans: readonly { readonly lease: number; readonly plan: Plan }[]): Promise<void> {
    const predicted = plans.map(({ lease, plan }) => this.#model.settle(this.#lease(lease), plan))
    await this.#each(subject => subject.settle(plans), predicted)
  }

  async #extend(lease: Lease | undefined): Promise<void> {
    if (lease === undefined) return
    const number = this.#model.leases.indexOf(lease)
    await this.#each(subject => subject.extend(number), this.#model.extend(lease))
  }

  async #runOut(which: number | 'all'): Promise<void> {
    const live = this.#model.leases.filter(lease => lease.state === 'live')
    const chosen = which === 'all' ? live : live.slice(which % Math.max(1, live.length)).slice(0, 1)
    for (const lease of chosen) {
      lease.ranOut = true
      const number = this.#model.leases.indexOf(lease)
      await this.#each(subject => subject.runOut(number), undefined)
    }
  }

  #crash(consumer: string): void {
    for (const lease of this.#model.leases) if (lease.consumer === consumer) this.#orphans.add(lease)
  }

  async #makeDue(group: Group): Promise<void> {
    for (const retry of group.retries.values()) if (retry.lease === null) retry.due = true
    await this.#each(subject => subject.makeDue(group.name), undefined)
  }

  async #forgetClosed(group: Group): Promise<void> {
    this.#model.forgetClosed(group)
    await this.#each(subject => subject.forgetClosed(group.name), undefined)
  }

  /** The counts and dead letters of the stores equal the model's. */
  async #compare(): Promise<void> {
    const groups = [...this.#model.groups.values()]
    const needed = new Map(groups.map(group => [group.name, this.#model.needed(group)]))
    await this.#each(subject => subject.describe(needed), this.#model.describe())
    const count = groups.reduce((sum, group) => sum + group.deadLetters.length, 0)
    if (count === this.#deadLetters) return
    this.#deadLetters = count
    for (const { name, deadLetters } of groups) {
      const predicted = deadLetters.toSorted((a, b) => a.n - b.n)
      await this.#each(subject => subject.deadLetters(name), predicted)
    }
  }

  async #each<T>(action: (subject: Subject) => Promise<T>, predicted: T): Promise<void> {
    // All stores finish before one failure ends the run, so that nothing leaks into the next.
    const outcomes = await Promise.allSettled(
      this.#subjects.map(subject =>
        this.#named(subject, async () => assert.deepEqual(await action(subject), predicted)),
      ),
    )
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
  }

  async #named<T>(subject: Subject, action: () => Promise<T>): Promise<T> {
    try {
      return await action()
    } catch (cause) {
      throw new Error(`On ${subject.name}, at ${this.#step}: ${cause instanceof Error ? cause.message : cause}`, {
        cause,
      })
    }
  }

  #choose(number: number, among: Among): Lease | undefined {
    const known = this.#model.leases.filter(lease => !this.#forgotten.has(lease))
    const live = known.filter(lease => lease.state === 'live' && !this.#orphans.has(lease))
    const from = among === 'live' ? live : known
    return from[number % Math.max(1, from.length)]
  }

  #finishedLeases(group: string): Lease[] {
    return this.#model.leases.filter(
      lease => lease.group.name === group && lease.state === 'done' && !this.#forgotten.has(lease),
    )
  }

  /** A queue has one group, without a name. */
  #nameOf(group: number): string {
    return this.#scenario.semantics === 'queue' ? '' : `group-${group % GROUPS}`
  }

  #group(name: string): Group {
    const group = this.#model.groups.get(name)
    assert.ok(group)
    return group
  }

  #lease(number: number): Lease {
    const lease = this.#model.leases[number]
    assert.ok(lease)
    return lease
  }
}

const indexOf = (group: string): number => (group === '' ? 0 : Number(group.slice('group-'.length)))

/** For a page of the log: there, all messages are at their first version. */
function pageSize({ lease }: Claimed): number | undefined {
  return lease?.slots.every(({ version }) => version === 1) ? lease.slots.length : undefined
}

function planOf(lease: Lease, fates: SettleCommand['fates']): Plan {
  if (fates === 'all') return { acks: 'all', nacks: [], releases: [] }
  const slots = lease.slots.map((_, slot) => ({ slot, fate: fates[slot % fates.length] }))
  const of = (...wanted: string[]): number[] =>
    slots.filter(({ fate }) => wanted.includes(fate ?? '')).map(({ slot }) => slot)
  const far = new Set(of('nack far'))
  return {
    acks: of('ack'),
    nacks: of('nack', 'nack far').map(slot => ({ slot, far: far.has(slot) })),
    releases: of('release'),
  }
}
