import { type Script, spawnScript } from '../../../testing/processes.ts'
import { figure, ratioAtMost } from '../../figure.ts'
import { median, percentile } from '../../statistics.ts'
import { orders } from '../../topics/payloads.ts'
import { type Bench, type BenchCase, ENGINE, WARM_UP_MS } from '../bench-case.ts'
import { openTopics } from '../open-topics.ts'

const PROCESSES = 8
const LIMIT = 100
const WORK_MS = 20
const SECONDS = 8
const TOPIC = 'claims'
const GROUP = 'group'

/** What a process is started with. */
export type WantedClaims = {
  readonly url: string
  readonly topic: string
  readonly group: string
  readonly limit: number
  readonly workMs: number
  readonly ms: number
}

const CLAIM = new URL('../scripts/claim.ts', import.meta.url)
const WRITE = new URL('../scripts/write-document.ts', import.meta.url)

export const claims: BenchCase = {
  name: 'claims',
  about: '8 processes claim 100 messages at a time from one group and work 20 ms on them, next to writes of a document',
  async run(bench) {
    const rounds = Math.max(1, Math.ceil(bench.rounds / 2))
    const samples = { ours: [] as number[], raw: [] as number[] }
    const rates: number[] = []
    const halves: number[] = []
    for (let round = 0; round <= rounds; round++) {
      const { claimed, written } = await contest(bench, `${TOPIC}-${round}`)
      bench.progress(describe(claimed, written))
      // The first warms up the servers.
      if (round === 0) continue
      samples.ours.push(percentile(claimed, 0.99))
      samples.raw.push(median(written))
      halves.push(median(claimed))
      rates.push(claimed.length / bench.size(SECONDS))
    }
    const raw = median(samples.raw)
    const measured = { engine: ENGINE, unit: 'ms', raw } as const
    const note = 'entries of 100; raw: median write of a document of 1 KB, at the same time'
    return [
      figure({
        case: 'claim by 8 processes, p99',
        ...measured,
        ours: median(samples.ours),
        samples,
        target: ratioAtMost(10),
        note,
      }),
      figure({ case: 'claim by 8 processes, p50', ...measured, ours: median(halves), note }),
      figure({ case: 'claims of 100 by 8 processes', engine: ENGINE, unit: '/s', ours: median(rates) }),
    ]
  },
}

/** Times of all claims, and of the writes of a process that is no part of the group. */
async function contest({ url, size }: Bench, topic: string): Promise<{ claimed: number[]; written: number[] }> {
  const ms = size(SECONDS) * 1_000
  {
    await using tidemark = await openTopics(url)
    await tidemark.configureTopic(topic, { semantics: 'pub-sub' })
    const group = tidemark.consumerGroup(topic, GROUP)
    group.addConsumer('nobody', () => undefined)
    await group.start({ from: 'beginning' })
    await group.stop()
    const batch = orders(LIMIT)
    const claimsInAll = (PROCESSES * (WARM_UP_MS + ms)) / WORK_MS
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        for (let n = 0; n < (claimsInAll * LIMIT) / batch.length / 8; n++) await tidemark.publishBatch(topic, batch)
      }),
    )
  }
  const wanted = JSON.stringify({ url, topic, group: GROUP, limit: LIMIT, workMs: WORK_MS, ms } satisfies WantedClaims)
  const scripts = [
    ...Array.from({ length: PROCESSES }, () => spawnScript(CLAIM, [wanted])),
    spawnScript(WRITE, [wanted]),
  ]
  try {
    await Promise.all(scripts.map(nextMessage))
    const measured = Promise.all(scripts.map(nextMessage))
    for (const script of scripts) script.send({ go: true })
    const times = (await measured) as number[][]
    return { claimed: times.slice(0, PROCESSES).flat(), written: times[PROCESSES] ?? [] }
  } finally {
    await Promise.all(scripts.map(script => script[Symbol.asyncDispose]()))
  }
}

/** Fails if the process ends before. */
async function nextMessage(script: Script): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>()
  script.onMessage(resolve)
  void script.exited.then(() => reject(new Error(`A process has ended:\n${script.errorLines.join('\n')}`)))
  return await promise
}

const describe = (claimed: readonly number[], written: readonly number[]): string =>
  `${claimed.length} claims, p50 ${median(claimed).toFixed(1)} ms, p99 ${percentile(claimed, 0.99).toFixed(1)} ms; ` +
  `document p50 ${median(written).toFixed(1)} ms, p99 ${percentile(written, 0.99).toFixed(1)} ms`
