/** An operator who pauses, resumes, resets, redrives, backfills, switches tracking and looks at the watermarks. */
import {
  BackfillError,
  ClaimNotFoundError,
  ConfigError,
  GroupNotFoundError,
  InvalidTransitionError,
  JobBusyError,
  type Tidemark,
} from 'tidemark'
import { topicsOf } from '../world.ts'
import { codeOf, given, isPassing, journal, nameOf, nextCall, pause, random, runWorker, stopping } from './worker.ts'

const LONGEST_PAUSE_MS = 1_200
/** How far back a backfill goes. */
const LONGEST_BACKFILL_MS = 5_000

type Act = {
  readonly verb: string
  readonly topic?: string
  readonly group?: string
  readonly call: (tm: Tidemark) => Promise<unknown>
}

const TOPIC = 'audit'
const LONGEST_PAUSED_MS = 700
const REFUSALS = [
  BackfillError,
  ClaimNotFoundError,
  ConfigError,
  GroupNotFoundError,
  InvalidTransitionError,
  JobBusyError,
]

const ACTS: readonly (() => Act)[] = [
  () => pauseAndResume('orders', random.pick(['email', 'metrics', 'ledger'])),
  () => pauseAndResume(TOPIC, random.pick(['billing', 'http'])),
  () => {
    const group = random.pick(['billing', 'http'])
    // Any later position would skip messages of a group that is behind.
    return { verb: 'reset', group, call: tm => tm.admin.resetGroup(TOPIC, group, 'beginning') }
  },
  () => {
    const group = random.pick(['billing', 'http'])
    return { verb: 'redrive', group, call: tm => tm.admin.redrive(TOPIC, { group }) }
  },
  () => ({ verb: 'switch', call: tm => tm.admin.setTracking(TOPIC, random.pick(['offset', 'reference'])) }),
  () => {
    const from = { timestamp: new Date(Date.now() - random.below(LONGEST_BACKFILL_MS)) }
    return { verb: 'backfill', group: 'billing', call: tm => tm.admin.startBackfill(TOPIC, 'billing', { from }) }
  },
  () => ({ verb: 'cancel-backfill', group: 'billing', call: tm => tm.admin.cancelBackfill(TOPIC, 'billing') }),
  () => ({ verb: 'resume-backfill', group: 'billing', call: tm => tm.admin.resumeBackfill(TOPIC, 'billing') }),
  () => ({ verb: 'release-claim', group: 'http', call: releaseClaim }),
  () => ({ verb: 'clean-up', call: tm => tm.admin.jobs.messages.runOnce() }),
]

await runWorker(async tm => {
  while (!stopping.signal.aborted) {
    const act = random.pick(ACTS)()
    await perform(tm, act)
    await sampleWatermarks(tm)
    await pause(random.below(LONGEST_PAUSE_MS))
  }
})

/** Never left paused by an operator who lives; the run resumes what a killed one has paused. */
function pauseAndResume(topic: string, group: string): Act {
  return {
    verb: 'pause',
    topic,
    group,
    async call(tm) {
      await tm.admin.pauseGroup(topic, group)
      await pause(random.below(LONGEST_PAUSED_MS))
      await tm.admin.resumeGroup(topic, group)
    },
  }
}

async function releaseClaim(tm: Tidemark): Promise<void> {
  const { claims } = await tm.admin.claims(TOPIC, { group: 'http' })
  const [claim] = claims
  if (claim !== undefined) await tm.admin.releaseClaim(TOPIC, claim.id)
}

async function perform(tm: Tidemark, { verb, topic = TOPIC, group, call }: Act): Promise<void> {
  const entry = {
    what: 'operate',
    call: nextCall(),
    verb,
    topic: nameOf(topic),
    ...(group !== undefined && { group }),
  } as const
  journal.write({ ...entry, phase: 'invoked' })
  try {
    await call(tm)
    journal.write({ ...entry, phase: 'ok' })
  } catch (error) {
    // What takes several transactions may have done a part of them, whatever its error says of the last.
    journal.write({
      ...entry,
      phase: isRefusal(error) ? 'failed' : 'unknown',
      error: codeOf(error),
    })
    if (!isRefusal(error) && !isPassing(error)) throw error
  }
}

/** Refused before anything was changed, because of what others did in the meantime. */
function isRefusal(error: unknown): boolean {
  return REFUSALS.some(kind => error instanceof kind)
}

async function sampleWatermarks(tm: Tidemark): Promise<void> {
  try {
    for (const topic of Object.keys(topicsOf(given.namespace))) {
      const { groups } = await tm.admin.describeTopic(topic)
      for (const { group, watermark } of groups) {
        journal.write({ what: 'watermark', topic: nameOf(topic), group, position: Number(watermark) })
      }
    }
  } catch (error) {
    if (!isPassing(error)) throw error
  }
}
