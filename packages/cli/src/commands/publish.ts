import { fstatSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { PublishedRef, Tidemark } from 'tidemark'
import type { Command, Surroundings } from '../command.ts'
import { DATABASE, withTopics } from '../database.ts'
import { UsageError } from '../errors.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import { type Given, present } from '../given.ts'
import { counted } from '../output/counted.ts'
import { progressBar } from '../output/progress-bar.ts'

/** Lines per transaction. */
const BATCH = 500

export const publish: Command = {
  name: 'publish',
  summary: 'Publish a message, or one for each line of standard input',
  arguments: [{ name: 'topic' }, { name: 'payload', optional: true }],
  options: {
    text: { help: 'treat the payload, or each line, as text instead of JSON' },
    key: { value: '<key>', help: 'message key; messages with the same key go to the same consumer' },
    header: { value: '<name=value>', help: 'message header', many: true },
    'message-id': { value: '<id>', help: 'id for deduplication; a second message with the same id is not stored' },
    ...DATABASE,
  },
  examples: [
    { run: `tidemark publish orders '{"orderId": 7}' --key customer-3`, what: 'publish one message' },
    {
      run: 'tidemark publish orders < orders.jsonl',
      what: 'one message per line, 500 per transaction; empty lines are skipped',
    },
  ],
  endsItself: true,
  outlivesReader: true,
  run: (given, surroundings) => {
    const publishAll = given.list('payload').length > 0 ? one(given, surroundings) : lines(given, surroundings)
    return withTopics(given, surroundings, publishAll)
  },
}

type Work = (tm: Tidemark) => Promise<ExitCode>

function one(given: Given, { output }: Surroundings): Work {
  const payload = payloadOf(given, given.argument('payload'), 'The payload')
  const options = present({ key: given.text('key'), headers: headersOf(given), messageId: given.text('message-id') })
  return async tm => {
    const ref = await tm.publish(given.argument('topic'), payload, options)
    output.result(ref, () => [`${ref.messageId}${ref.duplicate ? ' (already stored)' : ''}`])
    return EXIT.done
  }
}

function lines(given: Given, surroundings: Surroundings): Work {
  if (process.stdin.isTTY)
    throw new UsageError('No payload given. Pass it as an argument, or pipe lines to standard input')
  for (const option of ['key', 'header', 'message-id']) {
    if (given.text(option) !== undefined) throw new UsageError(`--${option} requires the payload as an argument`)
  }
  return tm => publishLines(tm, given, surroundings)
}

async function publishLines(tm: Tidemark, given: Given, surroundings: Surroundings): Promise<ExitCode> {
  const topic = given.argument('topic')
  await tm.admin.describeTopic(topic)
  let published = 0
  let number = 0
  let batch: unknown[] = []
  let bytes = 0
  const total = inputBytes()
  const line = surroundings.output.liveLine()
  const flush = async (): Promise<void> => {
    const refs: PublishedRef[] = await tm.publishBatch(topic, batch)
    published += refs.length
    batch = []
    line.draw(() => `${total > 0 ? `${progressBar(bytes / total)}  ` : ''}${counted(published, 'message')}`)
  }
  const input = createInterface({ input: process.stdin })
  surroundings.interrupted.addEventListener('abort', () => input.close(), { once: true })
  try {
    for await (const text of input) {
      number++
      bytes += Buffer.byteLength(text) + 1
      if (text.trim() === '') continue
      batch.push(payloadOf(given, text, `Line ${number}`))
      if (batch.length === BATCH) await flush()
    }
    if (batch.length > 0) await flush()
  } finally {
    line.clear()
    // Also if a line is wrong: the count says where to continue.
    surroundings.output.result({ topic, published }, () => [`${counted(published, 'message')} published to '${topic}'`])
    process.stdin.destroy()
  }
  return surroundings.interrupted.aborted ? EXIT.interrupted : EXIT.done
}

/** 0 if it is not a file, so that its size is unknown. */
function inputBytes(): number {
  const input = fstatSync(process.stdin.fd)
  return input.isFile() ? input.size : 0
}

function payloadOf(given: Given, text: string, what: string): unknown {
  if (given.flag('text')) return text
  try {
    return JSON.parse(text)
  } catch {
    throw new UsageError(`${what} is not valid JSON. Quote it as JSON, or use --text to publish it as text`)
  }
}

function headersOf(given: Given): Record<string, string> | undefined {
  const headers = given.texts('header')
  if (headers.length === 0) return undefined
  return Object.fromEntries(
    headers.map(header => {
      const at = header.indexOf('=')
      if (at < 1) throw new UsageError(`--header must be name=value, not '${header}'`)
      return [header.slice(0, at), header.slice(at + 1)]
    }),
  )
}
