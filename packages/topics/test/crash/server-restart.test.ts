/** A PostgreSQL server that is killed and started again under its clients. SQLite has no server. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { type PostgresServer, startPostgres } from '../../../../testing/postgres-server.ts'
import { until } from '../../../../testing/until.ts'
import { DatabaseError, open, StaleDeliveryError, type Tidemark } from '../../src/index.ts'

const TOPIC = 'events'
const PUBLISHERS = 8
const LONGEST_BACKLOG = 200
/** Number of acks between two restarts. */
const ACKS_BETWEEN = 150
const RESTARTS = Number(process.env.TIDEMARK_TEST_RUNS || 3)

const ENDS: readonly ((server: PostgresServer) => Promise<void>)[] = [
  server => server.stop('immediate'),
  server => server.kill(),
  server => server.stop('immediate'),
  server => server.stop('fast'),
]

describe('a PostgreSQL server that crashes and comes back under load', () => {
  it('loses no acknowledged publish and no ack, and the groups continue by themselves', async t => {
    await using server = await startPostgres({ durable: true })
    await using tm = await open(server.url, { logger: silent })
    await tm.configureTopic(TOPIC, {
      semantics: 'pub-sub',
      lease: '2s',
      maxAttempts: 50,
      backoff: { initial: 5, max: 50 },
    })
    const world = new World(tm)
    await world.start()

    for (let restart = 0; restart < RESTARTS; restart++) {
      const target = world.acked.size + ACKS_BETWEEN
      await until(() => world.acked.size >= target, { what: `${target} acks`, timeout: 60_000 })
      await ENDS[restart % ENDS.length]?.(server)
      await server.start()
    }
    await world.stop()
    t.diagnostic(
      `${RESTARTS} restarts, ${world.published.size} publishes acknowledged, ${world.duplicates} of them known already when ` +
        `they were repeated, ${world.deliveries} deliveries to the reader, ${world.failures} calls that found no server`,
    )
    assert.deepEqual(world.violations, [])
    assert.deepEqual(
      [...world.published.keys()].filter(key => !world.acked.has(key)),
      [],
      'never acked by the reader',
    )
    assert.deepEqual(
      [...world.published.keys()].filter(key => !world.handled.has(key)),
      [],
      'never handled by the group',
    )
    assert.deepEqual(await tm.admin.deadLetters(TOPIC), [])
  })
})

/** Publishers, a group and a reader in this process, and what they have seen. */
class World {
  /** Acknowledged, with the id of each. */
  readonly published = new Map<string, number>()
  readonly handled = new Set<string>()
  readonly acked = new Set<string>()
  readonly violations: string[] = []
  deliveries = 0
  duplicates = 0
  failures = 0
  readonly #tm: Tidemark
  readonly #intended = new Set<string>()
  readonly #ids = new Map<string, number>()
  #publishers: Promise<void>[] = []
  #reading: Promise<void> | undefined
  #stopping = false
  #done = false

  constructor(tm: Tidemark) {
    this.#tm = tm
  }

  async start(): Promise<void> {
    const group = this.#tm.consumerGroup<{ key: string }>(TOPIC, 'group')
    group.addConsumer('handler', ({ payload, id }) => {
      this.#check(payload.key, id)
      this.handled.add(payload.key)
    })
    await group.start({ from: 'beginning' })
    const reader = await this.#tm
      .reader<{ key: string }>(TOPIC, { group: 'reader', from: 'beginning', batchSize: 8 })
      .ready()
    this.#reading = this.#read(reader)
    this.#publishers = Array.from({ length: PUBLISHERS }, () => this.#publish())
  }

  /** No more is published; the rest arrives. */
  async stop(): Promise<void> {
    this.#stopping = true
    await Promise.all(this.#publishers)
    const everywhere = (key: string): boolean => this.acked.has(key) && this.handled.has(key)
    await until(() => [...this.published.keys()].every(everywhere), { what: 'the groups to go on', timeout: 60_000 })
    await until(() => this.#isDrained(), { what: 'the groups to drain', timeout: 60_000 })
    this.#done = true
    await this.#reading
  }

  /** Publishes with a messageId, so that a publish of unknown outcome can be repeated until it is acknowledged. */
  async #publish(): Promise<void> {
    while (!this.#stopping) {
      await until(() => this.published.size - this.acked.size < LONGEST_BACKLOG, {
        what: 'the backlog to shrink',
        timeout: 60_000,
      })
      const key = randomUUID()
      this.#intended.add(key)
      const ref = await this.#withPatience(() => this.#tm.publish(TOPIC, { key }, { messageId: key }))
      if (ref.duplicate) this.duplicates++
      this.#check(key, ref.id)
      this.published.set(key, ref.id)
    }
  }

  async #read(reader: ReturnType<Tidemark['reader']>): Promise<void> {
    while (!this.#done) {
      const delivery = await this.#withPatience(() => reader.poll(100))
      if (delivery === null) continue
      const { key } = delivery.payload as { key: string }
      this.deliveries++
      this.#check(key, delivery.id)
      if (this.acked.has(key)) this.violations.push(`${key} was delivered after its ack`)
      try {
        await reader.ack(delivery)
        if (this.acked.has(key)) this.violations.push(`${key} was acked twice`)
        this.acked.add(key)
      } catch (error) {
        if (!(error instanceof StaleDeliveryError)) throw error
      }
    }
  }

  /** A database that is away comes back. */
  async #withPatience<T>(action: () => Promise<T>): Promise<T> {
    return await until(
      async () => {
        try {
          return { result: await action() }
        } catch (error) {
          if (!(error instanceof DatabaseError)) throw error
          this.failures++
          return false
        }
      },
      { what: 'the server to come back', timeout: 60_000 },
    ).then(({ result }) => result)
  }

  /** Nothing comes from nowhere, and each message stands in the log once. */
  #check(key: string, id: number): void {
    if (!this.#intended.has(key)) this.violations.push(`${key} came from nowhere`)
    const known = this.#ids.get(key) ?? id
    if (known !== id) this.violations.push(`${key} stands in the log as ${known} and as ${id}`)
    this.#ids.set(key, id)
  }

  async #isDrained(): Promise<boolean> {
    const { groups } = await this.#tm.admin.describeTopic(TOPIC)
    return groups.every(({ backlog, inFlight, retries }) => backlog + inFlight + retries === 0)
  }
}

/** That the server goes away is the point of it. */
const silent = { debug() {}, info() {}, warn() {}, error() {} }
