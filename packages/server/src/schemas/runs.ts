import { Type } from 'typebox'
import { Count, nullable, strict, Time } from './common.ts'
import { share } from './shared.ts'

export const RunId = Type.String({
  pattern: '^\\d{8}-\\d{8}-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$',
  description: 'yyyyMMdd-HHmmssSS-<uuid>',
})
export const Tick = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const OrganismId = Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1 })
const Whole = Type.Integer()
/** A number for each dimension of the world. */
const Coordinates = Type.Array(Whole, { maxItems: 16 })

export const RunParams = strict({ runId: RunId })
export const TickParams = strict({ runId: RunId, tick: Tick })
export const OrganismParams = strict({ runId: RunId, organismId: OrganismId })
export const OrganismTickParams = strict({ runId: RunId, organismId: OrganismId, tick: Tick })

const COORDINATES = '\\d{1,10}(,\\d{1,10}){0,15}'

export const CellParams = strict({
  runId: RunId,
  tick: Tick,
  coordinates: Type.String({ pattern: `^${COORDINATES}$`, examples: ['3,4'] }),
})

export const RegionGiven = Type.String({
  pattern: `^${COORDINATES}:${COORDINATES}$`,
  description: 'Region from corner to corner, inclusive, such as 0,0:19,19.',
  examples: ['0,0:19,19'],
})

export const MetadataSchema = strict({
  runId: RunId,
  startedAt: Type.Integer({ description: 'Unix time in milliseconds.' }),
  seed: Type.String({ maxLength: 10_000 }),
  samplingInterval: Type.Integer({ minimum: 1 }),
  environment: strict({
    shape: Type.Array(Type.Integer({ minimum: 1 }), { minItems: 1, maxItems: 16 }),
    topology: Type.Enum(['torus', 'bounded']),
  }),
  settings: Type.String({ description: "The simulation's own settings, as JSON." }),
  moleculeTypes: Type.Array(Type.String(), { maxItems: 10_000 }),
})

export const RunFactsSchema = share(
  'RunFacts',
  strict({
    runId: RunId,
    live: Type.Boolean({
      description:
        'Whether it grows: a simulation of this server produces it, or it has grown within the last seconds.',
    }),
    startedAt: Time,
    seed: nullable(Type.String({ maxLength: 10_000, description: 'null while its metadata is not indexed.' })),
    shape: nullable(Type.Array(Type.Integer({ minimum: 1 }), { minItems: 1, maxItems: 16 })),
    topology: nullable(Type.Enum(['torus', 'bounded'])),
    moleculeTypes: Type.Array(Type.String(), { maxItems: 10_000 }),
    samplingInterval: nullable(Type.Integer({ minimum: 1 })),
    ticks: nullable(strict({ first: Tick, last: Tick, count: Count })),
    alive: nullable(Type.Integer({ minimum: 0, description: 'Organisms alive in the last tick of the series.' })),
    bytes: nullable(Type.Integer({ minimum: 0, description: 'Size of its index.' })),
    gaps: Type.Integer({ minimum: 0, description: 'Ranges of missing ticks; at most 1000 are counted.' }),
    problem: nullable(Type.String({ description: "Why its index can't be read." })),
  }),
)

const RangeSchema = strict({ tickStart: Whole, tickEnd: Whole, ticks: Count })

export const RangesSchema = share(
  'IndexedRanges',
  strict({
    environment: nullable(RangeSchema),
    organisms: nullable(RangeSchema),
    series: nullable(RangeSchema),
  }),
)

export const MOST_RANGES = 1_000

export const IndexedTicksSchema = strict({
  ranges: Type.Array(Type.Array(Whole, { minItems: 3, maxItems: 3 }), {
    maxItems: MOST_RANGES,
    description: '[start, end, step]: ticks start, start + step, … end are indexed.',
  }),
  gaps: Type.Array(Type.Array(Whole, { minItems: 2, maxItems: 2 }), {
    maxItems: MOST_RANGES + 1,
    description: '[start, end]: ticks from start to end are missing.',
  }),
  next: nullable(Whole),
})

export const GapSchema = strict({
  indexer: Type.String(),
  tickStart: Whole,
  tickEnd: Whole,
  since: Time,
  isPermanent: Type.Boolean(),
  isSkipped: Type.Boolean(),
})

const Columns = {
  flatIndex: Type.Array(Whole),
  moleculeType: Type.Array(Whole),
  moleculeValue: Type.Array(Whole),
  ownerId: Type.Array(Whole),
}
const columnsSay = { description: 'Columns: entry i of each is one cell. Empty cells are omitted.' }

export const NextCells = nullable(
  Type.Integer({ description: "Value of 'after' for the next page; null on the last page." }),
)
export const CellsSchema = share('Cells', strict(Columns, columnsSay))
export const CellsPageSchema = share('CellsPage', strict({ ...Columns, next: NextCells }, columnsSay))

export const CellSchema = strict({
  coordinates: Coordinates,
  moleculeType: Whole,
  moleculeValue: Whole,
  ownerId: Whole,
})

export const OrganismSchema = share(
  'Organism',
  strict({
    id: Whole,
    parentId: nullable(Whole),
    birthTick: Whole,
    lineage: Whole,
    energy: Type.Number(),
    position: Coordinates,
    direction: Coordinates,
    genomeBase64: Type.String(),
    isDead: Type.Boolean(),
  }),
)

export const MOST_ORGANISMS = 10_000
const Column = Type.Array(Whole, { maxItems: MOST_ORGANISMS })

export const OrganismColumnsSchema = share(
  'OrganismColumns',
  strict(
    {
      tick: Tick,
      id: Column,
      parentId: Type.Array(nullable(Whole), { maxItems: MOST_ORGANISMS }),
      birthTick: Column,
      lineage: Column,
      energy: Type.Array(nullable(Type.Number()), { maxItems: MOST_ORGANISMS }),
      position: Type.Array(Column, { maxItems: 16, description: 'A column for each dimension.' }),
      isDead: Type.Array(Type.Boolean(), { maxItems: MOST_ORGANISMS }),
      total: Type.Integer({ minimum: 0, description: 'Number of all organisms that match.' }),
      next: nullable(Type.String({ description: "Value of 'after' for the next page; null on the last page." })),
    },
    { description: 'Columns: entry i of each is one organism.' },
  ),
)

export const MOST_LINEAGES = 1_000

export const LineagesSchema = strict({
  tick: Tick,
  count: Type.Integer({ minimum: 0, description: 'Number of lineages with organisms alive.' }),
  alive: Type.Integer({ minimum: 0, description: 'Number of organisms alive.' }),
  lineages: Type.Array(
    strict({
      lineage: Whole,
      parent: nullable(Type.Integer({ description: 'Lineage that it comes from.' })),
      alive: Count,
      firstTick: Tick,
      lastTick: Tick,
    }),
    { maxItems: MOST_LINEAGES, description: 'The largest, the one with most organisms alive first.' },
  ),
})

export const OrganismFactsSchema = share(
  'OrganismFacts',
  strict({
    id: Whole,
    parentId: nullable(Whole),
    birthTick: Whole,
    birthPosition: Coordinates,
    lineage: Whole,
    deathTick: nullable(Whole),
  }),
)

const Figures = strict({
  alive: Type.Number(),
  births: Type.Number(),
  deaths: Type.Number(),
  meanEnergy: Type.Number(),
})

export const SeriesPointSchema = strict({
  tick: Whole,
  ticks: Count,
  alive: Type.Number(),
  births: Type.Number(),
  deaths: Type.Number(),
  meanEnergy: Type.Number(),
  cells: Type.Array(Type.Number(), { maxItems: 10_000, description: 'Number of cells by molecule type.' }),
  min: Figures,
  max: Figures,
})

export const TickQuerySchema = { from: Type.Optional(Tick), to: Type.Optional(Tick) }
