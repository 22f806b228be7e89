import assert from 'node:assert/strict'
import { type BatchClaim, BatchLedger, type Gap, type IndexDatabase, StaleClaimError } from '@tidemark/pipeline'
import type { Command, Scenario } from './commands.ts'
import { CLAIM_TIMEOUT, GAP_WARNING, LedgerModel } from './model.ts'

export type Subject = { readonly name: string; readonly database: IndexDatabase }

const MINUTE = 60_000

/** The same commands on the model and on every engine; each answer, and all that can be read after it, must agree. */
export async function runScenario(subjects: readonly Subject[], indexer: string, scenario: Scenario): Promise<number> {
  const model = new LedgerModel(scenario.world)
  const players = await Promise.all(subjects.map(subject => Player.begin(subject, indexer, scenario)))
  const play = async (command: Command): Promise<unknown> => {
    const expected = answer(model, scenario, players[0]?.claims ?? [], command)
    for (const player of players) {
      assert.deepEqual(await player.play(command), expected, `${player.name}: ${JSON.stringify(command)}`)
      assert.deepEqual(await player.view(), viewOf(model), `${player.name} after ${JSON.stringify(command)}`)
    }
    return expected
  }
  let played = 0
  for (const command of [...scenario.commands, ...ending(scenario)]) {
    await play(command)
    played++
  }
  // Nothing may be stuck: all that is known is completed by taking what comes next until nothing does.
  while ((await play({ do: 'claimNext' })) !== null) {
    await play({ do: 'complete', claim: (players[0]?.claims.length ?? 0) - 1 })
    played += 2
  }
  for (const { key } of scenario.batches) assert.equal(model.completions.get(key), 1, `${key} is completed once`)
  assert.deepEqual(model.gaps(), [])
  assert.equal(model.processedRanges().length, 1)
  return played
}

/** Faults stop: what is missing arrives, what failed is tried again, and those who crashed lose their claims. */
function ending({ batches }: Scenario): Command[] {
  const each = (verb: 'tryClaim' | 'retry'): Command[] => batches.map((_, batch) => ({ do: verb, batch }))
  return [...each('tryClaim'), ...each('retry'), { do: 'wait', minutes: 6 }]
}

class Player {
  readonly name: string
  readonly claims: BatchClaim[] = []
  readonly #database: IndexDatabase
  readonly #indexer: string
  readonly #ledger: BatchLedger
  readonly #scenario: Scenario

  private constructor({ name, database }: Subject, indexer: string, ledger: BatchLedger, scenario: Scenario) {
    this.name = name
    this.#database = database
    this.#indexer = indexer
    this.#ledger = ledger
    this.#scenario = scenario
  }

  static async begin(subject: Subject, indexer: string, scenario: Scenario): Promise<Player> {
    const { samplingInterval, firstTick, releases } = scenario.world
    const ledger = await BatchLedger.open(subject.database, {
      indexer,
      samplingInterval,
      firstTick,
      claimTimeout: CLAIM_TIMEOUT,
      gapWarningTimeout: GAP_WARNING,
      afterPermanentGap: releases ? 'release' : 'wait',
    })
    return new Player(subject, indexer, ledger, scenario)
  }

  async play(command: Command): Promise<unknown> {
    const ledger = this.#ledger
    switch (command.do) {
      case 'tryClaim': {
        const result = await ledger.tryClaim(pick(this.#scenario.batches, command.batch), 'finder')
        if (result.outcome === 'claimed') this.claims.push(result.claim)
        return result.outcome
      }
      case 'claimNext': {
        const claim = await ledger.claimNext('taker')
        if (claim !== null) this.claims.push(claim)
        return claim && `${claim.key}@${claim.version}`
      }
      case 'retry':
        return await ledger.retry(pick(this.#scenario.batches, command.batch).key)
      case 'record':
        return await ledger.recordProcessed(pick(this.#scenario.batches, command.batch))
      case 'report':
        return (await ledger.reportPermanentGaps()).map(ticksOf)
      case 'wait':
        return await this.#letTimePass(command.minutes * MINUTE)
      default:
        if (this.claims.length === 0) return 'nothing'
        return await this.#settle(command.do, pick(this.claims, command.claim))
    }
  }

  async view(): Promise<unknown> {
    const [counts, processed, gaps] = await Promise.all([
      this.#ledger.counts(),
      this.#ledger.processedRanges(),
      this.#ledger.gaps(),
    ])
    return {
      counts,
      processed: processed.map(ticksOf),
      gaps: gaps.map(gap => ({ ticks: ticksOf(gap), isPermanent: gap.isPermanent, isSkipped: gap.isSkipped })),
    }
  }

  /** All that is stored of this ledger happened so much earlier. */
  async #letTimePass(ms: number): Promise<void> {
    const schema = this.#database.engine === 'postgres' ? 'run.' : ''
    const of = `where indexer = '${this.#indexer}'`
    await this.#database.transaction(async tx => {
      await tx.run(`update ${schema}batch_processing set claimed_at = claimed_at - ${ms} ${of}`)
      await tx.run(`update ${schema}batch_arrived set gap_since = gap_since - ${ms} ${of}`)
    })
  }

  async #settle(verb: 'complete' | 'fail' | 'release' | 'extend', claim: BatchClaim): Promise<string> {
    try {
      await (verb === 'fail' ? this.#ledger.fail(claim, 'torn') : this.#ledger[verb](claim))
      return 'done'
    } catch (error) {
      if (error instanceof StaleClaimError) return 'stale'
      throw error
    }
  }
}

function answer(model: LedgerModel, { batches }: Scenario, claims: readonly BatchClaim[], command: Command): unknown {
  switch (command.do) {
    case 'tryClaim':
      return model.tryClaim(pick(batches, command.batch))
    case 'claimNext':
      return model.claimNext()
    case 'retry':
      return model.retry(pick(batches, command.batch).key)
    case 'record':
      return model.record(pick(batches, command.batch))
    case 'report':
      return model.reportPermanentGaps()
    case 'wait':
      return model.pass(command.minutes * MINUTE)
    default: {
      if (claims.length === 0) return 'nothing'
      const { key, version } = pick(claims, command.claim)
      if (command.do === 'extend') return model.extend(key, version)
      return model.settle(
        key,
        version,
        ({ complete: 'completed', fail: 'failed', release: 'ready' } as const)[command.do],
      )
    }
  }
}

const viewOf = (model: LedgerModel): unknown => ({
  counts: model.counts(),
  processed: model.processedRanges(),
  gaps: model.gaps(),
})

const ticksOf = ({ tickStart, tickEnd }: Pick<Gap, 'tickStart' | 'tickEnd'>): [number, number] => [tickStart, tickEnd]

function pick<T>(all: readonly T[], at: number): T {
  const found = all[at % all.length]
  assert.ok(found !== undefined)
  return found
}
