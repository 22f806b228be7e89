import { setTimeout as delay } from 'node:timers/promises'
import type { Screen } from '@tidemark/pipeline'
import type { BackfillOptions, BackfillProgress, From, Tidemark } from 'tidemark'
import type { Command, Surroundings } from '../command.ts'
import { DATABASE, withTopics } from '../database.ts'
import { NotFoundError } from '../errors.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import { type Given, present } from '../given.ts'
import { progressBar } from '../output/progress-bar.ts'
import { ago } from '../output/units.ts'

const WHOSE = [{ name: 'topic' }, { name: 'group' }] as const
const LOOK_MS = 200

export const start: Command = {
  name: 'backfill start',
  summary: 'Brings a group of a reference topic what was published before it came, and waits until it is done',
  arguments: WHOSE,
  options: {
    from: { value: '<position>', help: 'beginning if not said; now, a time, or a message id' },
    preset: { value: '<name>', help: 'conservative or aggressive' },
    scope: {
      value: '<scope>',
      help: 'pending: what some group has still to do; retained (if not said): all that is kept',
    },
    'max-messages': { value: '<n>', help: 'the newest so many, or all' },
    'batch-size': { value: '<n>', help: 'messages of one transaction' },
    'max-per-second': { value: '<n>', help: 'no faster than this' },
    'target-latency': { value: '<duration>', help: 'slows down when a write on the live path takes longer' },
    ...DATABASE,
  },
  examples: [
    {
      run: 'tidemark backfill start orders audit --from 2026-05-01',
      what: 'with a progress bar; Ctrl-C leaves it to be resumed',
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
  summary: 'Shows how far the last backfill of a group is',
  arguments: WHOSE,
  options: { follow: { help: 'until it has ended' }, ...DATABASE },
  examples: [{ run: 'tidemark backfill progress orders audit --follow', what: 'a progress bar, whoever runs it' }],
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
  summary: 'Stops a backfill; what it has brought so far stays',
  arguments: WHOSE,
  options: DATABASE,
  examples: [{ run: 'tidemark backfill cancel orders audit', what: 'it can be resumed' }],
  run: (given, surroundings) =>
    withTopics(given, surroundings, async tm => {
      const cancelled = await tm.admin.cancelBackfill(given.argument('topic'), given.argument('group'))
      surroundings.output.result(cancelled, () => [lineOf(cancelled)])
      return EXIT.done
    }),
}

export const resume: Command = {
  name: 'backfill resume',
  summary: 'Goes on with a backfill that was cancelled or has failed, and waits until it is done',
  arguments: WHOSE,
  options: DATABASE,
  examples: [{ run: 'tidemark backfill resume orders audit', what: 'from its checkpoint on' }],
  endsItself: true,
  run: (given, surroundings) =>
    withTopics(given, surroundings, async tm => {
      const resumed = tm.admin.resumeBackfill(given.argument('topic'), given.argument('group'))
      return await watch(tm, given, surroundings, resumed)
    }),
}

/** Until it has ended. It runs in this process, unless another was quicker to take it over. */
async function watch(
  tm: Tidemark,
  given: Given,
  { output, interrupted }: Surroundings,
  begun: Promise<BackfillProgress>,
): Promise<ExitCode> {
  let isBegun = false
  // Only a terminal has it drawn, and only then is it worth the loading.
  const screen = output.isLive ? new (await import('@tidemark/pipeline')).Screen() : undefined
  const beginning = begun.finally(() => {
    isBegun = true
  })
  // A small one is over before its start is told; a refusal must not wait for the next look.
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
        "It is not done: 'tidemark backfill progress' tells, and any process with maintenance goes on with it",
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
  throw new NotFoundError(`Group '${group}' of topic '${topic}' has had no backfill`)
}

function lineOf({ status, progress: share, processed, ratePerSecond, etaMs, error }: BackfillProgress): string {
  const parts = [progressBar(share), status, `${processed} messages`, `${Math.round(ratePerSecond)}/s`]
  if (etaMs !== null) parts.push(`${ago(etaMs)} to go`)
  if (error !== null) parts.push(error)
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
