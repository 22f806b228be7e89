import { figure, ratioAtLeast } from '../../figure.ts'
import { interleave, rateOf } from '../../interleave.ts'
import { openJetStream } from '../../peers/contenders/jetstream.ts'
import { orders } from '../../topics/payloads.ts'
import { type BenchCase, ENGINE, PAGE, REPLICAS } from '../bench-case.ts'
import { openTopics } from '../open-topics.ts'

const BATCHES = 48
/** Ours are faster: each sample of either side takes about a second. */
const OURS = 6
const CALLERS = 8
const TOPIC = 'publish-batch'
const BY_HAND = 'publish-by-hand'

export const publishBatch: BenchCase = {
  name: 'publish-batch',
  about: 'batches of 1000, 8 at a time and one by one, next to nats.js by hand with one message an entry',
  async run({ url, rounds, size }) {
    await using tidemark = await openTopics(url)
    await using byHand = await openJetStream(url, REPLICAS)
    await tidemark.configureTopic(TOPIC, { semantics: 'pub-sub' })
    await byHand.prepare(BY_HAND, [])
    const payloads = orders(PAGE)
    const batches = Math.max(CALLERS, size(BATCHES))
    const side = (callers: number, publish: () => Promise<unknown>, total: number) => () =>
      rateOf(total * PAGE, () =>
        Promise.all(
          Array.from({ length: callers }, async () => {
            for (let n = 0; n < total / callers; n++) await publish()
          }),
        ),
      )
    const ours = (): Promise<unknown> => tidemark.publishBatch(TOPIC, payloads)
    const atomic = (): Promise<unknown> => byHand.publishBatch(BY_HAND, payloads)
    const one = (): Promise<unknown> => Promise.all(payloads.map(each => byHand.publish(BY_HAND, each)))
    const { medians, samples } = await interleave(rounds, {
      raw: side(CALLERS, atomic, batches),
      ours: side(CALLERS, ours, batches * OURS),
      rawOfOne: side(1, atomic, batches),
      oursOfOne: side(1, ours, batches * OURS),
      separate: side(1, one, batches),
    })
    const measured = { engine: ENGINE, unit: '/s' } as const
    return [
      figure({
        case: 'publishBatch of 1000, 8 callers',
        ...measured,
        ...medians,
        samples: { raw: samples.raw, ours: samples.ours },
        target: ratioAtLeast(8),
        note: 'raw: atomic batches of 1000 messages',
      }),
      figure({
        case: 'publishBatch of 1000, 1 caller',
        ...measured,
        raw: medians.rawOfOne,
        ours: medians.oursOfOne,
        samples: { raw: samples.rawOfOne, ours: samples.oursOfOne },
        note: 'raw: atomic batches of 1000 messages',
      }),
      figure({
        case: 'publishBatch of 1000, 1 caller',
        ...measured,
        raw: medians.separate,
        ours: medians.oursOfOne,
        samples: { raw: samples.separate, ours: samples.oursOfOne },
        note: 'raw: 1000 publishes at a time, each acknowledged by itself',
      }),
    ]
  },
}
