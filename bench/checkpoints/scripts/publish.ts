/** publish.ts <work>: publishes at a fixed rate until it is told to stop. */
import { setTimeout as delay } from 'node:timers/promises'
import { open } from 'tidemark'
import { monotonicMs } from '../../topics/monotonic.ts'
import { reportTo, Sample } from '../load/answer-parent.ts'
import type { Load, PublishReport, PublishWork } from '../load/messages.ts'

const LARGEST_BATCH = 1_000
const TURN_MS = 5
const NOTE = 'please leave the parcel with the neighbour on the second floor and ring twice, the bell is quiet '.repeat(
  2,
)
const NOTE_BYTES = 150

const work = JSON.parse(process.argv[2] ?? '') as PublishWork
const tidemark = await open(work.url, { ...(work.namespace && { namespace: work.namespace }), maintenance: false })
const durations = new Sample()
let { perSecond } = work
let published = 0
/** The schedule: messages that were due when the rate was last changed, and when that was. */
let dueBefore = 0
let since = monotonicMs()
let isStopping = false

const due = (): number => dueBefore + Math.floor(((monotonicMs() - since) * perSecond) / 1_000)
const report = (): PublishReport => ({
  published,
  durations: durations.take(),
  lateMs: perSecond === 0 ? 0 : Math.max(0, ((due() - published) * 1_000) / perSecond),
})
const lastReport = reportTo(report, command => {
  if (command.stop) isStopping = true
  if (command.perSecond === undefined) return
  // What is late is left out: the new rate begins now.
  dueBefore = published
  since = monotonicMs()
  perSecond = command.perSecond
})

while (!isStopping) {
  const count = Math.min(due() - published, work.single ? 1 : LARGEST_BATCH)
  if (count <= 0) {
    await delay(TURN_MS)
    continue
  }
  const started = monotonicMs()
  if (work.single) await tidemark.publish(work.topic, load(published, started))
  else
    await tidemark.publishBatch(
      work.topic,
      Array.from({ length: count }, (_, index) => load(published + index, started)),
    )
  durations.add(monotonicMs() - started)
  published += count
}
await tidemark.close()
lastReport()
process.disconnect()

function load(n: number, sentAt: number): Load {
  return { n, sentAt, note: NOTE.slice(0, NOTE_BYTES) }
}
