import type { StoredMessage, Tidemark } from 'tidemark'
import type { Command, Surroundings } from '../command.ts'
import { DATABASE, withTopics } from '../database.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import { messageLine, messageValue } from '../output/message.ts'

export const tail: Command = {
  name: 'tail',
  summary: 'Show messages as they are published, without consuming them',
  arguments: [{ name: 'topic' }],
  options: {
    last: { value: '<n>', help: 'show the newest n stored messages first (default 0)' },
    key: { value: '<key>', help: 'only messages with this key' },
    count: { value: '<n>', help: 'exit after n messages' },
    once: { help: 'exit after the stored messages' },
    ...DATABASE,
  },
  examples: [
    { run: 'tidemark tail orders --last 10', what: 'the newest ten, then new messages until Ctrl-C' },
    { run: 'tidemark tail orders --json | jq .payload', what: 'one JSON document per line' },
  ],
  endsItself: true,
  run: (given, surroundings) => {
    const wanted = {
      topic: given.argument('topic'),
      last: given.whole('last', { max: 1_000 }) ?? 0,
      key: given.text('key'),
      most: given.whole('count') ?? Number.POSITIVE_INFINITY,
      once: given.flag('once'),
    }
    return withTopics(given, surroundings, tm => follow(tm, wanted, surroundings))
  },
}

type Wanted = {
  readonly topic: string
  readonly last: number
  readonly key: string | undefined
  readonly most: number
  readonly once: boolean
}

async function follow(tm: Tidemark, wanted: Wanted, { output, interrupted }: Surroundings): Promise<ExitCode> {
  const { topic, last, key, most, once } = wanted
  let shown = 0
  const show = (message: StoredMessage): void => {
    if (shown >= most || (key !== undefined && message.key !== key)) return
    shown++
    output.next(messageValue(message), () => messageLine(message, output))
  }
  // Started before reading earlier messages, so that nothing falls between the two; messages in both are shown once.
  const coming = await tm.admin.tail(topic, { signal: interrupted })
  const seen = new Set<number>()
  if (last > 0) {
    for (const message of await newest(tm, topic, last, key)) {
      seen.add(message.id)
      show(message)
    }
  }
  if (once || shown >= most) {
    await coming.return()
    return EXIT.done
  }
  for await (const message of coming) {
    if (!seen.has(message.id)) show(message)
    if (shown >= most) return EXIT.done
  }
  return EXIT.interrupted
}

async function newest(tm: Tidemark, topic: string, count: number, key: string | undefined): Promise<StoredMessage[]> {
  const found: StoredMessage[] = []
  let before: number | null = null
  do {
    const page = await tm.admin.browse(topic, {
      order: 'newest-first',
      limit: count - found.length,
      ...(key !== undefined && { key }),
      ...(before !== null && { before }),
    })
    found.push(...page.messages)
    before = page.next
  } while (before !== null && found.length < count)
  return found.reverse()
}
