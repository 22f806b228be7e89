import { setTimeout as delay } from 'node:timers/promises'
import type { BackfillOptions, BackfillProgress, From, Tidemark } from 'tidemark'
import type { Command, Surroundings } from '../command.ts'
import { DATABASE, withTopics } from '../database.ts'
import { NotFoundError } from '../errors.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import { type Given, present } from '../given.ts'
import { counted } from '../output/counted.ts'
import { progressBar } from '../output/progress-bar.ts'
import { Screen } from '../output/screen.ts'
import { ago } from '../output/units.ts'
import { visible } from '../output/visible.ts'

const WHOSE = [{ name: 'topic' }, { name: 'group' }] as const
const LOOK_MS = 200

export const start: Command = {
  name: 'backfill start',
  summary: 'Deliver earlier messages of a reference topic to a group, and wait until that is done',
  arguments: WHOSE,
  options: {
    from: { value: '<position>', help: 'start position: beginning, a time or a message id (default beginning)' },
    preset: { value: '<name>', help: 'conservative or aggressive: settings for batch size and rate' },
    scope: {
      value: '<scope>',
      help: 'pending: messages that some group has not completed; retained: all messages (default retained)',
    },
    'max-messages': { value: '<n>', help: 'maximum number of messages, newest first, or all' },
    'batch-size': { value: '<n>', help: 'messages per transaction' },
    'max-per-second': { value: '<n>', help: 'maximum messages per second' },
    'target-latency': {
      value: '<duration>',
      help: 'write latency of live traffic above which the backfill slows down',
    },
    ...DATABASE,
  },
  examples: [
    {
      run: 'tidemark backfill start orders audit --from 2026-05-01',
      what: 'shows a progress bar; after Ctrl-C the backfill can be resumed',
    },
  ],
  endsItself: true,
  run: (given, surroundings) => {
    const options = optionsOf(given)
    return withTopics(given, surroundings, async tm => {
      const started = tm.admin.startBackfill(given.argument('topic'), given.argument('group'), options)
      return await watch(tm, given, surroundings, started)
    })
  },
}

export const progress: Command = {
  name: 'backfill progress',
  summary: 'Show the progress of the last backfill of a group',
  arguments: WHOSE,
  options: { follow: { help: 'keep showing it until the backfill ends' }, ...DATABASE },
  examples: [
    {
      run: 'tidemark backfill progress orders audit --follow',
      what: 'progress bar, whichever process runs the backfill',
    },
  ],
  endsItself: true,
  run: (given, surroundings) =>
    withTopics(given, surroundings, async tm => {
      const found = await find(tm, given)
      if (given.flag('follow')) return await watch(tm, given, surroundings, Promise.resolve(found))
      surroundings.output.result(found, () => [lineOf(found)])
      return EXIT.done
    }),
}

export const cancel: Command = {
  name: 'backfill cancel',
  summary: 'Stop a backfill; messages delivered so far remain',
  arguments: WHOSE,
  options: DATABASE,
  examples: [{ run: 'tidemark backfill cancel orders audit', what: 'it can be resumed later' }],
  run: (given, surroundings) =>
    withTopics(given, surroundings, async tm => {
      const cancelled = await tm.admin.cancelBackfill(given.argument('topic'), given.argument('group'))
      surroundings.output.result(cancelled, () => [lineOf(cancelled)])
      return EXIT.done
    }),
}

export const resume: Command = {
  name: 'backfill resume',
  summary: 'Resume a cancelled or failed backfill, and wait until it is done',
  arguments: WHOSE,
  options: DATABASE,
  examples: [{ run: 'tidemark backfill resume orders audit', what: 'continues at its checkpoint' }],
  endsItself: true,
  run: (given, surroundings) =>
    withTopics(given, surroundings, async tm => {
      const resumed = tm.admin.resumeBackfill(given.argument('topic'), given.argument('group'))
      return await watch(tm, given, surroundings, resumed)
    }),
}

/** Until it has ended. It runs in this process, unless another process took it over first. */
async function watch(
  tm: Tidemark,
  given: Given,
  { output, interrupted }: Surroundings,
  begun: Promise<BackfillProgress>,
): Promise<ExitCode> {
  let isBegun = false
  const screen = output.isLive ? new Screen() : undefined
  const beginning = begun.finally(() => {
    isBegun = true
  })
  // A small backfill is over before its start is reported; a refusal must not wait for the next poll.
  while (!isBegun && !interrupted.aborted) {
    await Promise.race([beginning, delay(LOOK_MS, undefined, { signal: interrupted }).catch(() => undefined)])
    if (!isBegun && screen) await draw(tm, given, screen)
  }
  if (!interrupted.aborted) await beginning
  for (;;) {
    const now = await find(tm, given)
    screen?.draw([lineOf(now)])
    if (now.status !== 'RUNNING') {
      if (!output.isLive) output.result(now, () => [lineOf(now)])
      return now.status === 'COMPLETED' ? EXIT.done : EXIT.failed
    }
    if (interrupted.aborted) {
      void beginning.catch(() => undefined)
      output.note(
        "The backfill is not finished. Any process that runs maintenance continues it; see 'tidemark backfill progress'",
      )
      return EXIT.interrupted
    }
    await delay(LOOK_MS, undefined, { signal: interrupted }).catch(() => undefined)
  }
}

async function draw(tm: Tidemark, given: Given, screen: Screen): Promise<void> {
  const now = await tm.admin.backfill(given.argument('topic'), given.argument('group'))
  if (now !== undefined) screen.draw([lineOf(now)])
}

async function find(tm: Tidemark, given: Given): Promise<BackfillProgress> {
  const topic = given.argument('topic')
  const group = given.argument('group')
  const found = await tm.admin.backfill(topic, group)
  if (found !== undefined) return found
  throw new NotFoundError(`Group '${group}' of topic '${topic}' has no backfill`)
}

function lineOf({ status, progress: share, processed, ratePerSecond, etaMs, slowed, error }: BackfillProgress): string {
  const parts = [progressBar(share), status, counted(processed, 'message'), `${Math.round(ratePerSecond)}/s`]
  if (etaMs !== null) parts.push(`${ago(etaMs)} left`)
  if (slowed) parts.push('slowed by live traffic')
  if (error !== null) parts.push(visible(error))
  return parts.join('  ')
}

function optionsOf(given: Given): BackfillOptions & { from?: From } {
  return present({
    from: given.position('from'),
    preset: given.oneOf('preset', ['conservative', 'aggressive']),
    scope: given.oneOf('scope', ['pending', 'retained']),
    maxMessages: given.text('max-messages') === 'all' ? ('all' as const) : given.whole('max-messages', { min: 0 }),
    batchSize: given.whole('batch-size'),
    maxPerSecond: given.whole('max-per-second'),
    targetLatency: given.duration('target-latency'),
  })
}
