import { figure, ratioAtLeast } from '../../figure.ts'
import { interleave } from '../../interleave.ts'
import { openJetStream } from '../../peers/contenders/jetstream.ts'
import { consumeAll } from '../../topics/consume-all.ts'
import { fillTopic } from '../../topics/log-filling.ts'
import { orders } from '../../topics/payloads.ts'
import { type BenchCase, ENGINE, PAGE, REPLICAS } from '../bench-case.ts'
import { openTopics } from '../open-topics.ts'

const MESSAGES = 100_000
const GROUPS = 8
const TOPIC = 'drain'

export const drain: BenchCase = {
  name: 'drain',
  about: 'one group and 8 groups drain 100 000 messages, next to a pull consumer of nats.js with one message an entry',
  async run({ url, rounds, size, progress }) {
    const messages = size(MESSAGES)
    await using byHand = await openJetStream(url, REPLICAS)
    const drainByHand = await filledByHand(byHand, messages)
    {
      await using tidemark = await openTopics(url)
      await fillTopic(tidemark, TOPIC, messages)
    }
    progress('filled')
    // Opened for each sample: what an earlier one has read is in nobody's cache.
    const groups = (count: number) => async () => {
      await using tidemark = await openTopics(url)
      return await consumeAll(tidemark, { topic: TOPIC, messages, groups: count, batchSize: PAGE })
    }
    const { medians, samples } = await interleave(rounds, {
      raw: () => drainByHand('explicit'),
      together: () => drainByHand('all'),
      ours: groups(1),
      eight: groups(GROUPS),
    })
    const measured = { engine: ENGINE, unit: '/s' } as const
    return [
      figure({
        case: 'drain by 1 group',
        ...measured,
        ...medians,
        samples: { raw: samples.raw, ours: samples.ours },
        target: ratioAtLeast(3),
        note: 'raw: durable pull consumer, each message acknowledged',
      }),
      figure({
        case: 'drain by 1 group',
        ...measured,
        raw: medians.together,
        ours: medians.ours,
        samples: { raw: samples.together, ours: samples.ours },
        note: 'raw: likewise, AckPolicy all, once per 1000: no message can be redelivered alone',
      }),
      figure({
        case: `drain by ${GROUPS} groups`,
        ...measured,
        raw: medians.ours,
        ours: medians.eight,
        samples: { raw: samples.ours, ours: samples.eight },
        target: ratioAtLeast(1.8),
        note: 'raw: 1 group',
      }),
    ]
  },
}

/** A stream with the same messages. Each time that it is drained it has a new consumer. */
async function filledByHand(
  byHand: Awaited<ReturnType<typeof openJetStream>>,
  messages: number,
): Promise<(acks: 'all' | 'explicit') => Promise<number>> {
  const stream = 'drain-by-hand'
  await byHand.prepare(stream, [])
  const batch = orders(PAGE)
  for (let left = messages; left > 0; left -= PAGE) await byHand.publishBatch(stream, batch.slice(0, left))
  let round = 0
  return async acks => {
    await byHand.addGroup(stream, `round-${round++}`, acks)
    const started = performance.now()
    return (messages * 1_000) / ((await byHand.drain(stream, messages)) - started)
  }
}
