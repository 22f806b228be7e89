import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { open } from 'tidemark'
import { orders } from '../topics/payloads.ts'
import type { Load } from './costs.ts'

export type Measured = { readonly publishing: number; readonly consuming: number; readonly wall: number }

/**
 * The same load on a real file, with processor time as the clock: other programs on the machine don't count, and neither
 * does the disk (`durability: 'process'`). Publishing and consuming apart, where they are not at the same time. Seconds.
 */
export async function measure({ messages, batch, groups, page, live }: Load): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-scale-'))
  try {
    await using tidemark = await open(`sqlite:${join(folder, 'load.db')}`, {
      durability: 'process',
      maintenance: false,
    })
    await tidemark.configureTopic('load', { semantics: 'pub-sub' })
    const payloads = orders(batch)
    const publish = async (): Promise<void> => {
      for (let left = messages; left > 0; left -= batch) {
        await tidemark.publishBatch('load', left < batch ? payloads.slice(0, left) : payloads)
      }
    }
    const consume = async (): Promise<void> => {
      const done = Promise.withResolvers<void>()
      let left = messages * groups
      const off = tidemark.on('acked', ({ count }) => {
        left -= count
        if (left === 0) done.resolve()
      })
      const all = Array.from({ length: groups }, (_, n) =>
        tidemark
          .consumerGroup<{ orderId: number }>('load', `group-${n}`, { batchSize: page })
          .addConsumer('one', ({ payload }) => {
            if (!(payload.orderId > 0)) throw new Error('a message came without its order')
          }),
      )
      await Promise.all(all.map(group => group.start({ from: 'beginning' })))
      await done.promise
      off()
    }
    globalThis.gc?.()
    const started = performance.now()
    const first = await timed(async () => void (await (live ? Promise.all([publish(), consume()]) : publish())))
    const second = live || groups === 0 ? 0 : await timed(consume)
    return {
      publishing: live ? 0 : first,
      consuming: live ? first : second,
      wall: (performance.now() - started) / 1_000,
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Processor time that the work took, in seconds. */
async function timed(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1e6
}
