import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Client } from 'pg'
import { open, type Tidemark } from '../../src/index.ts'
import { freshNamespace, quiet, server, useServer } from './store-bench.ts'

useServer()

/** Notes for every publish that is sent whether the event loop has turned since `turned` was set to false. */
class World implements AsyncDisposable {
  turned = false
  readonly sent: boolean[] = []
  #tidemark: Tidemark | undefined

  async open(): Promise<Tidemark> {
    const client = (): Client => {
      const made = new Client({ connectionString: server.url })
      const query = made.query.bind(made) as (config: object) => unknown
      const noted = (config: { name?: string }) => {
        if (config.name?.startsWith('tidemark_publish')) this.sent.push(this.turned)
        return query(config)
      }
      return Object.assign(made, { query: noted })
    }
    this.#tidemark = await open(server.url, { namespace: freshNamespace(), logger: quiet, maintenance: false, client })
    await this.#tidemark.configureTopic('events')
    return this.#tidemark
  }

  /** Whether each transaction of what `publish` begins is sent only after a turn. */
  async turns(publish: () => Promise<unknown>): Promise<boolean[]> {
    this.sent.length = 0
    this.turned = false
    setImmediate(() => {
      this.turned = true
    })
    await publish()
    return [...this.sent]
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#tidemark?.close()
  }
}

describe('a caller that waits for each publish', () => {
  it('does not wait for a turn of the event loop', async () => {
    await using world = new World()
    const tm = await world.open()
    for (let warmUp = 1; warmUp <= 3; warmUp++) await tm.publish('events', warmUp)
    assert.deepEqual(await world.turns(() => tm.publish('events', 4)), [false])
  })

  it('shares its transaction with what is published before the next callback', async () => {
    await using world = new World()
    const tm = await world.open()
    for (let warmUp = 1; warmUp <= 3; warmUp++) await tm.publish('events', warmUp)
    const together = () => Promise.all([1, 2, 3].map(async each => await tm.publish('events', each)))
    assert.equal((await world.turns(together)).length, 1)
  })

  it('waits for a turn once others publish beside it', async () => {
    await using world = new World()
    const tm = await world.open()
    await tm.publish('events', 1)
    await Promise.all([2, 3].map(each => tm.publish('events', each)))
    assert.deepEqual(await world.turns(() => tm.publish('events', 4)), [true])
  })
})
