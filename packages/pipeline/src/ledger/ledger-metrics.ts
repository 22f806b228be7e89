import { LatencyWindow, type WindowedLatency } from '../metrics/latency-window.ts'
import type { Note } from './ledger-change.ts'

const COUNTED = [
  'claimAttempts',
  'claimed',
  'takenOver',
  'completed',
  'failed',
  'givenBack',
  'stale',
  'gapPending',
  'gapsReleased',
  'permanentGaps',
  'errors',
] as const

type Counted = (typeof COUNTED)[number]

/** Figures of a ledger in one process. */
export type LedgerMetrics = {
  /** Totals by name. */
  readonly totals: { readonly [name in Counted]: number }
  /** Share of claims that succeeded. */
  readonly claimSuccessRate: number
  /** Latency of claims in milliseconds, over the last seconds. */
  readonly latency: { readonly claim: WindowedLatency; readonly complete: WindowedLatency }
}

/** Figures of one instance of a ledger, recorded and read in constant time without a query. */
export class LedgerMeter {
  readonly #totals = Object.fromEntries(COUNTED.map(name => [name, 0])) as { [name in Counted]: number }
  readonly #latency = { claim: new LatencyWindow(), complete: new LatencyWindow() }

  add(name: Counted, count = 1): void {
    this.#totals[name] += count
  }

  note(note: Note): void {
    switch (note.kind) {
      case 'claimed':
        this.add('claimed')
        if (note.claim.isTakenOver) this.add('takenOver')
        break
      case 'settled':
        this.add(note.status === 'ready' ? 'givenBack' : note.status)
        break
      case 'released':
        this.add('gapsReleased', note.batches)
        break
      case 'gapPending':
        this.add('gapPending')
        break
      case 'permanentGap':
        this.add('permanentGaps')
    }
  }

  async time<T>(what: 'claim' | 'complete', work: () => Promise<T>): Promise<T> {
    const started = performance.now()
    const result = await work()
    this.#latency[what].record(performance.now() - started)
    return result
  }

  snapshot(): LedgerMetrics {
    const { claimed, claimAttempts } = this.#totals
    return {
      totals: { ...this.#totals },
      claimSuccessRate: claimAttempts === 0 ? 0 : claimed / claimAttempts,
      latency: { claim: this.#latency.claim.snapshot(), complete: this.#latency.complete.snapshot() },
    }
  }
}

/** Flat figures for a service's metrics: `ledgerClaimed`, `ledgerClaimMsP95`, … */
export function ledgerFigures({ totals, claimSuccessRate, latency }: LedgerMetrics): Record<string, number> {
  const named = Object.entries(totals).map(([name, value]) => [
    `ledger${name[0]?.toUpperCase()}${name.slice(1)}`,
    value,
  ])
  return {
    ...Object.fromEntries(named),
    ledgerClaimSuccessRate: claimSuccessRate,
    ledgerClaimMsP95: latency.claim.p95,
    ledgerCompleteMsP95: latency.complete.p95,
  }
}
