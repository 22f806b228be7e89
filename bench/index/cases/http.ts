import { writeFileSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { decodeRawTick, encodeTick, environmentIndexer } from '@tidemark/pipeline'
import { temporaryFolder } from '../../../testing/folders.ts'
import { spawnScript } from '../../../testing/processes.ts'
import { figure, ratioAtLeast } from '../../figure.ts'
import { interleave, rateOf } from '../../interleave.ts'
import { worldTicks } from '../../pipeline/world.ts'
import type { IndexCase } from '../bench-case.ts'
import { FlushedIndex } from '../flushed-index.ts'
import { StoredWorld } from '../world.ts'

const TICKS = 200
const READS = 2_000
/** Requests under way at once, each on a connection that is kept. */
const AT_ONCE = 4
const JSON_TYPE = 'application/json'

export const http: IndexCase = {
  name: 'http',
  about: 'whole ticks over HTTP next to the same bytes from plain files by the same server; a region next to the whole',
  async run({ engine, rounds, size }) {
    using world = await StoredWorld.of(0, 0)
    using folder = temporaryFolder()
    const ticks = worldTicks(world.runId, TICKS).map(tick => decodeRawTick(encodeTick(tick).bytes))
    for (const { tick, cells } of ticks) writeFileSync(join(folder.path, String(tick)), cells)
    await world.freshIndex(engine)
    await using index = await FlushedIndex.open(world, engine, environmentIndexer())
    await index.flush(ticks)
    await using script = spawnScript(new URL('../scripts/serve.ts', import.meta.url), [engine.address, folder.path])
    const server = await script.waitForLine(/^http:/)
    using client = new Client()
    const environment = (tick: number): string => `${server}/api/v1/runs/${world.runId}/environment/${tick}`
    await sameBytes(client, environment(7), `${server}/plain/7`)
    const repeat = (count: number, url: (tick: number) => string, accept?: string) => () =>
      rateOf(count, () => inParallel(count, time => client.read(url(time % TICKS), accept)))
    const { medians, samples } = await interleave(rounds, {
      plain: repeat(size(READS), tick => `${server}/plain/${tick}`),
      bytes: repeat(size(READS), environment),
      whole: repeat(size(READS / 4), environment, JSON_TYPE),
      region: repeat(size(READS / 2), tick => `${environment(tick)}?region=40,40:59,59`, JSON_TYPE),
    })
    const common = { engine: engine.name, unit: '/s' } as const
    return [
      figure({
        case: 'read a whole tick over HTTP',
        ...common,
        ours: medians.bytes,
        raw: medians.plain,
        samples: { ours: samples.bytes, raw: samples.plain },
        target: ratioAtLeast(0.5),
        note: `25 kB, ${AT_ONCE} connections, server in a process of its own; raw: the same bytes from a plain file by the same server`,
      }),
      figure({
        case: 'read a region of 20 × 20 over HTTP',
        ...common,
        ours: medians.region,
        raw: medians.whole,
        samples: { ours: samples.region, raw: samples.whole },
        target: ratioAtLeast(3),
        note: 'as JSON; raw: the whole tick as JSON',
      }),
    ]
  },
}

/** Connections that are kept from one request to the next. */
class Client implements Disposable {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })

  async read(url: string, accept = 'application/x-protobuf'): Promise<Buffer> {
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
    const request = get(url, { agent: this.#agent, headers: { accept } }, response => {
      buffer(response).then(body => {
        if (response.statusCode === 200) resolve(body)
        else reject(new Error(`${response.statusCode} for ${url}: ${body}`))
      }, reject)
    })
    request.on('error', reject)
    return await promise
  }

  [Symbol.dispose](): void {
    this.#agent.destroy()
  }
}

async function sameBytes(client: Client, ...urls: [string, string]): Promise<void> {
  const [ours, plain] = await Promise.all(urls.map(url => client.read(url)))
  if (ours === undefined || plain === undefined || !ours.equals(plain)) throw new Error('The bytes are not the same')
}

async function inParallel(count: number, work: (time: number) => Promise<unknown>): Promise<void> {
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < count) await work(next++)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}
