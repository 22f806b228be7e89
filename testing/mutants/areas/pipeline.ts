import type { Area, Mutant } from '../mutant.ts'

const PIPELINE = 'packages/pipeline/src'
const INDEXING = `${PIPELINE}/services/indexing`
const PERSISTENCE = `${PIPELINE}/services/persistence`

const mutants: Mutant[] = [
  {
    name: 'a failed announcement in an older folder is never made',
    file: `${PERSISTENCE}/reconciler.ts`,
    find: 'if (!isLast && keys.every(key => known.has(key))) known.seal(folder, keys)',
    replace: 'if (!isLast) known.seal(folder, keys)',
    tests: ['persistence/reconciler'],
  },
  {
    name: 'a file added to an old folder is never announced',
    file: `${PERSISTENCE}/announced-keys.ts`,
    find: 'if (this.#sealed.get(folder) === digestOf(keys)) {',
    replace: 'if (this.#sealed.has(folder)) {',
    tests: ['persistence/reconciler'],
  },
  {
    name: 'a failed announcement counts as made',
    file: `${PERSISTENCE}/reconciler.ts`,
    find: '          await this.#announce(this.#batches, key, batchEnvelope(await this.#storage.describeBatch(key)))\n          known.add(key)\n',
    replace:
      '          known.add(key)\n          await this.#announce(this.#batches, key, batchEnvelope(await this.#storage.describeBatch(key)))\n',
    tests: ['persistence/reconciler'],
  },
  {
    name: 'a corrupt file stops the scan',
    file: `${PERSISTENCE}/reconciler.ts`,
    find: 'if (error instanceof CorruptFileError) await this.#quarantine(keys, error, context)',
    replace: 'throw error',
    tests: ['persistence/reconciler'],
  },
  {
    name: 'a batch is acked before all of its ticks are flushed',
    file: `${INDEXING}/components/buffering.ts`,
    find: 'this.completed = this.batches.filter(({ isRead }) => isRead)',
    replace: 'this.completed = this.batches',
    tests: ['indexing/'],
  },
  {
    name: 'a batch is completed before its last tick is buffered',
    file: `${INDEXING}/batch-loop.ts`,
    find: '    held.isRead = true\n    if (previous !== undefined) await this.#buffer(held, previous)',
    replace: '    if (previous !== undefined) await this.#buffer(held, previous)\n    held.isRead = true',
    tests: ['indexing/'],
  },
  {
    name: 'a batch is acked although its flush failed',
    file: `${INDEXING}/batch-loop.ts`,
    find: '          for (const held of taken.batches) await this.#fail(held, error)\n          return\n',
    replace: '          for (const held of taken.batches) await this.#fail(held, error)\n',
    tests: ['indexing/'],
  },
  {
    name: 'the last ticks are not flushed on stop',
    file: `${INDEXING}/batch-loop.ts`,
    find: '      await this.#followRemoval()\n    }\n    await this.#flush()\n',
    replace: '      await this.#followRemoval()\n    }\n',
    tests: ['indexing/'],
  },
  {
    name: 'a batch that was taken over counts as failed',
    file: `${INDEXING}/batch-loop.ts`,
    find: 'if (deadLetters === null || error instanceof StaleClaimError) return false',
    replace: 'if (deadLetters === null) return false',
    tests: ['indexing/'],
  },
  {
    name: 'a batch that arrived twice is flushed in one',
    file: `${INDEXING}/batch-loop.ts`,
    find: 'if (buffer.isFull || buffer.has(tick)) await this.#flush()',
    replace: 'if (buffer.isFull) await this.#flush()',
    tests: ['indexing/'],
  },
  {
    name: 'a buffer has no limit of bytes',
    file: `${INDEXING}/components/buffering.ts`,
    find: 'this.#slots.length >= this.#limits.maxTicks || this.#bytes >= this.#limits.maxBytes',
    replace: 'this.#slots.length >= this.#limits.maxTicks',
    tests: ['indexing/'],
  },
  {
    name: 'a dropped batch keeps its bytes in the buffer',
    file: `${INDEXING}/components/buffering.ts`,
    find: '    this.#numbers.clear()\n    this.#bytes = 0\n',
    replace: '    this.#numbers.clear()\n',
    tests: ['indexing/'],
  },
  {
    name: 'a tick is marked before it is stored',
    file: `${PERSISTENCE}/persistence-service.ts`,
    find: "    const outcome = await this.#storeOrBury(ticks, () => this.#timedWrite(ticks), context, misfitsOf)\n    if ('value' in outcome) {\n      await this.#duplicates.mark(ticks)\n",
    replace:
      "    await this.#duplicates.mark(ticks)\n    const outcome = await this.#storeOrBury(ticks, () => this.#timedWrite(ticks), context, misfitsOf)\n    if ('value' in outcome) {\n",
    tests: ['persistence/duplicates', 'persistence/failures'],
  },
  {
    name: 'batches of mixed runs are stored',
    file: `${PERSISTENCE}/persistence-service.ts`,
    find: 'if (runIds.length > 1) {',
    replace: 'if (runIds.length > 1_000) {',
    tests: ['persistence/batching', 'persistence/failures'],
  },
  {
    name: 'announcements overtake each other',
    file: `${PERSISTENCE}/persistence-service.ts`,
    find: '      await before\n',
    replace: '',
    tests: ['persistence/batching'],
  },
  {
    name: 'the neighbours of a bad tick become dead letters',
    file: `${PERSISTENCE}/persistence-service.ts`,
    find: 'if (misfits.size > 0 && others.length > 0) await this.#write(others, context, before)',
    replace: '',
    tests: ['persistence/failures'],
  },
  {
    name: 'a batch across a stored tick is written as one',
    file: `${PERSISTENCE}/duplicate-filter.ts`,
    find: '    else if (piece.length > 0) {\n      pieces.push(piece)\n      piece = []\n    }\n',
    replace: '',
    tests: ['persistence/duplicates'],
  },
  {
    name: 'ticks that another service stores are stored twice',
    file: `${PERSISTENCE}/duplicate-filter.ts`,
    find: 'if (this.#atWork.has(key)) return false\n',
    replace: '',
    tests: ['persistence/duplicates'],
  },
  {
    name: 'an error that would repeat is retried',
    file: `${PERSISTENCE}/store-or-bury.ts`,
    find: '  LimitError,\n  MixedRunsError,\n',
    replace: '  MixedRunsError,\n',
    tests: ['persistence/failures', 'persistence/attempts'],
  },
  {
    name: 'a stuck claim of the ledger is never taken over',
    file: `${PIPELINE}/databases/sql/ledger-row-statements.ts`,
    find: "where indexer = $1 and status = 'claimed' and claimed_at <= $2",
    replace: "where indexer = $1 and status = 'claimed' and claimed_at <= $2 and 1 = 0",
    tests: ['test/ledger/'],
  },
  {
    name: 'a gap releases batches beyond its range',
    file: `${PIPELINE}/databases/sql/ledger-row-statements.ts`,
    find: "where indexer = $1 and status = 'gap_pending' and tick_start between $2 and $3",
    replace: "where indexer = $1 and status = 'gap_pending' and tick_start >= $2 and $3 > 0",
    tests: ['test/ledger/'],
  },
  {
    name: 'a batch behind a gap is released when it joins another that waits',
    file: `${PIPELINE}/ledger/gap-detection.ts`,
    find: 'isHeld: all.every(({ isHeld }) => isHeld),',
    replace: 'isHeld: false,',
    tests: ['test/ledger/'],
  },
  {
    name: 'a gap before the first range is not noticed',
    file: `${PIPELINE}/ledger/gap-detection.ts`,
    find: 'if (first?.tickStart !== whole.tickStart) await noticeGapAfter(rows, whole)',
    replace: '',
    tests: ['test/ledger/'],
  },
  {
    name: 'missing ticks are counted without the sampling interval',
    file: `${PIPELINE}/ledger/gap-detection.ts`,
    find: 'const steps = Math.ceil((nextStart - tickStart) / samplingInterval) - 1',
    replace: 'const steps = Math.ceil(nextStart - tickStart) - 1',
    tests: ['test/ledger/'],
  },
]

export const PIPELINE_AREA: Area = { name: 'pipeline', mutants }
