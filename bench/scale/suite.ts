import type { Figure } from '../figure.ts'
import { median } from '../statistics.ts'
import type { Suite, SuiteOptions, SuiteResult } from '../suite.ts'
import { costsOf, SMALL } from './calibrate.ts'
import type { Costs, Load } from './costs.ts'
import { type Measured, measure } from './measure.ts'
import { type Demand, plan } from './plan.ts'
import { simulate } from './simulate.ts'

/** Loads that the calibration has not seen: more groups, other batches and pages, and all of it at the same time. */
const PREDICTED = {
  'drain by 8 groups': { messages: 30_000, batch: 500, groups: 8, page: 400, live: false },
  'live, 3 groups': { messages: 40_000, batch: 250, groups: 3, page: 500, live: true },
} as const satisfies { readonly [name: string]: Load }

const DEMANDS: { readonly [name: string]: Demand } = {
  'a laptop': { perSecond: 5_000, groups: 4, batch: 100, page: 200, keys: 10_000, partitions: 16 },
  '100 000 a second': { perSecond: 100_000, groups: 4, batch: 500, page: 1_000, keys: 100_000, partitions: 64 },
  '1 000 000 a second': {
    perSecond: 1_000_000,
    groups: 4,
    batch: 1_000,
    page: 1_000,
    keys: 1_000_000,
    partitions: 512,
  },
}

const ROUNDS = 5
const QUICK_ROUNDS = 3
const LARGEST_ERROR = 0.2

const REMARKS = [
  'Clock: processor time of one process on SQLite, durability process: other programs and the disk do not count.',
  'ours: predicted from the small loads of the same run; raw limit: measured. Each is a median of rounds that take turns.',
]

export const scale: Suite = {
  name: 'scale',
  about:
    'a simulation of one process, calibrated on small loads; predicts larger ones, measures them, and plans servers',
  cases: Object.keys(PREDICTED).map(name => ({ name, about: 'predicted and measured' })),
  run: runScale,
}

async function runScale({ quick, progress }: SuiteOptions): Promise<SuiteResult> {
  const small: { [name in keyof typeof SMALL]: Measured[] } = {
    almostNothing: [],
    smallBatches: [],
    largePages: [],
    fourGroups: [],
    fourSmallPages: [],
    live: [],
  }
  const larger = new Map<string, Measured[]>(Object.keys(PREDICTED).map(name => [name, []]))
  const rounds = quick ? QUICK_ROUNDS : ROUNDS
  for (let round = 0; round <= rounds; round++) {
    progress(round === 0 ? 'warming up' : `round ${round} of ${rounds}`)
    for (const name of Object.keys(SMALL) as (keyof typeof SMALL)[]) {
      const measured = await measure(SMALL[name])
      if (round > 0) small[name].push(measured)
    }
    for (const [name, load] of Object.entries(PREDICTED)) {
      const measured = await measure(load)
      if (round > 0) larger.get(name)?.push(measured)
    }
  }
  const ofRounds = Array.from({ length: rounds }, (_, round) => costsOf(mapped(small, each => each[round] as Measured)))
  const costs = mapped(ofRounds[0] as Costs, (_, name) => median(ofRounds.map(each => each[name])))
  const figures = Object.entries(PREDICTED).map(([name, load]) => compare(name, load, ofRounds, larger.get(name) ?? []))
  const remarks = [...REMARKS, costsText(costs), ...Object.entries(DEMANDS).map(each => demandText(each, costs))]
  return { figures, versions: {}, remarks, details: { costs }, failed: figures.some(({ met }) => met === false) }
}

function mapped<K extends string, T, R>(values: { readonly [key in K]: T }, change: (value: T, key: K) => R) {
  return Object.fromEntries((Object.keys(values) as K[]).map(key => [key, change(values[key], key)] as const)) as {
    [key in K]: R
  }
}

/** Each round is predicted with its own calibration: the machine may be faster in one round than in another. */
function compare(name: string, load: Load, costs: readonly Costs[], samples: readonly Measured[]): Figure {
  const measured = samples.map(({ publishing, consuming }) => publishing + consuming)
  const predicted = costs.map(each => simulate(load, each))
  const ratio = median(predicted.map(({ seconds }, round) => (measured[round] ?? Number.NaN) / seconds))
  return {
    case: name,
    engine: 'sqlite',
    ours: load.messages / median(predicted.map(({ seconds }) => seconds)),
    raw: load.messages / median(measured),
    unit: '/s',
    ratio,
    target: `within ${LARGEST_ERROR * 100} %`,
    met: Math.abs(ratio - 1) <= LARGEST_ERROR,
    note: `${load.groups} groups, batches of ${load.batch}, ${predicted[0]?.pages} pages of at most ${load.page}`,
    samples: {
      predicted: predicted.map(({ seconds }) => load.messages / seconds),
      measured: measured.map(each => load.messages / each),
    },
  }
}

const costsText = ({ start, batch, published, turn, page, wake, read, delivered }: Costs): string =>
  `Calibrated, in µs: ${[
    ['the start of a group', start],
    ['a publish', batch],
    ['each of its messages', published],
    ['a turn with pages', turn],
    ['a page', page],
    ['a group that is woken', wake],
    ['each message read', read],
    ['each message delivered', delivered],
  ]
    .map(([what, cost]) => `${what} ${Number(cost).toPrecision(3)}`)
    .join(', ')}.`

function demandText([name, demand]: readonly [string, Demand], costs: Costs): string {
  const { servers, skew, perProcess } = plan(demand, costs)
  const { groups, batch, partitions } = demand
  return (
    `${name}: ${demand.perSecond.toLocaleString('en-US')} messages a second for ${groups} groups in batches of ${batch}: ` +
    `${servers} process${servers === 1 ? '' : 'es'} at half load (one does ${Math.round(perProcess).toLocaleString('en-US')} a second at full load), ` +
    `${partitions} partitions by key, the busiest server ${skew.toFixed(2)} times the mean.`
  )
}
