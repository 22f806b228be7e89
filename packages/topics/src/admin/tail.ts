import { TopicNotFoundError } from '../errors.ts'
import { Options } from '../options/options.ts'
import type { Runtime } from '../runtime.ts'
import type { ByteBounds } from '../stores/byte-bounds.ts'
import type { TailPage } from '../stores/log.ts'
import type { TopicRecord } from '../stores/topic-record.ts'
import { type ByteOptions, readBounds } from './byte-options.ts'
import { findTopic } from './find-records.ts'
import { type StoredMessage, toStoredMessage } from './stored-message.ts'

/** Options of `tail`. */
export type TailOptions = {
  /** Ends the tail when aborted. */
  signal?: AbortSignal
} & ByteOptions

const PAGE = 100

/** Messages published from now on, each once, without consuming them. Ends with its signal, or with `close()`. */
export async function tail(
  runtime: Runtime,
  name: string,
  given?: TailOptions,
): Promise<AsyncGenerator<StoredMessage, void, undefined>> {
  const options = new Options('tail', given)
  const signal = options.object<AbortSignal>('signal', value => value instanceof AbortSignal, 'an AbortSignal')
  const bounds = readBounds(options)
  options.done()
  const topic = await findTopic(runtime, name)
  const { place } = await runtime.store.log.tail(topic, null, 0)
  return follow(runtime, topic, place, bounds, signal)
}

/** Reads first and waits afterwards, as consumers do: a wake-up is only a hint. */
async function* follow(
  runtime: Runtime,
  topic: TopicRecord,
  start: string,
  bounds: ByteBounds,
  signal: AbortSignal | undefined,
): AsyncGenerator<StoredMessage, void, undefined> {
  // It begins with the first message that is asked for, which may be after the close.
  runtime.assertOpen()
  const waker = runtime.wakeHub.waker(topic.id)
  let stopped = false
  const end = (): void => {
    stopped = true
    waker.wake()
  }
  const running = { stop: async () => end() }
  runtime.started.add(running)
  signal?.addEventListener('abort', end, { once: true })
  try {
    let place = start
    while (!stopped && signal?.aborted !== true) {
      const seen = waker.count
      const page = await read(runtime, topic, place, bounds)
      place = page.place
      for (const message of page.messages) {
        yield toStoredMessage(topic, message)
        if (stopped) return
      }
      if (page.messages.length === 0) await waker.wait(seen, runtime.sweepMs * (0.75 + 0.5 * Math.random()))
    }
  } finally {
    signal?.removeEventListener('abort', end)
    runtime.started.delete(running)
    waker.dispose()
  }
}

async function read(runtime: Runtime, topic: TopicRecord, place: string, bounds: ByteBounds): Promise<TailPage> {
  try {
    return await runtime.store.log.tail(topic, place, PAGE, bounds)
  } catch (error) {
    // The log is gone: find out why.
    const now = await runtime.store.topics.find(topic.name)
    throw now?.uid === topic.uid ? error : new TopicNotFoundError(topic.name)
  }
}
