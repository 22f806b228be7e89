import { join } from 'node:path'
import { BatchFile, decodeTick, isRunId, type Tick } from '@tidemark/pipeline'
import type { Surroundings } from '../command.ts'
import { NotFoundError } from '../errors.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import type { Given } from '../given.ts'
import { counted } from '../output/counted.ts'
import type { Output } from '../output/output.ts'
import { facts, table } from '../output/table.ts'
import { megabytes } from '../output/units.ts'
import { dataFolderOf, openStorage } from './data-folder.ts'
import { batchesOf } from './list-runs.ts'

const SHOWN_ORGANISMS = 20

export async function inspectBatch(given: Given, { output }: Surroundings): Promise<ExitCode> {
  const what = given.argument('file-or-run')
  const tick = given.argument('tick') === '' ? undefined : given.wholeArgument('tick')
  const path = isRunId(what) ? await fileOf(given, what, tick) : what
  await using file = await BatchFile.open(path)
  if (tick === undefined) await showFile(file, output)
  else await showTick(file, tick, output)
  return EXIT.done
}

/** The batch with the tick; without a tick, the run's last. */
async function fileOf(given: Given, runId: string, tick: number | undefined): Promise<string> {
  let last: { readonly key: string; readonly tickEnd: number } | undefined
  for await (const batch of batchesOf(await openStorage(given), runId, tick)) last = batch
  if (last === undefined || (tick !== undefined && last.tickEnd < tick)) {
    throw new NotFoundError(
      `Run ${runId} has no stored ${tick === undefined ? 'batches' : `tick ${tick}`} in ${dataFolderOf(given)}`,
    )
  }
  return join(dataFolderOf(given), 'storage', last.key)
}

async function showFile(file: BatchFile, output: Output): Promise<void> {
  let content = 0
  for await (const { bytes } of file.ticks()) content += bytes.length
  const { path, runId, tickStart, tickEnd, tickCount, bytes } = file
  const shown = { path, runId, tickStart, tickEnd, tickCount, bytes, tickBytes: content, verified: true }
  output.result(shown, () =>
    facts([
      ['file', path],
      ['run', runId],
      ['ticks', `${tickCount}, from ${tickStart} to ${tickEnd}`],
      ['size', `${megabytes(bytes)}, ${megabytes(content)} uncompressed`],
      ['verified', output.paint('green', 'whole')],
    ]),
  )
}

async function showTick(file: BatchFile, tick: number, output: Output): Promise<void> {
  let found: Tick | undefined
  // Reads to the end even if the tick was found: a damaged file is an error.
  for await (const each of file.ticks()) if (each.tick === tick) found = decodeTick(each.bytes)
  if (found === undefined) {
    throw new NotFoundError(
      `${file.path} does not contain tick ${tick}. It contains ${counted(file.tickCount, 'tick')} from ${file.tickStart} to ${file.tickEnd}`,
    )
  }
  const { runId, capturedAt, cells, organisms } = found
  output.result(found, () => [
    ...facts([
      ['run', runId],
      ['tick', tick],
      ['captured', new Date(capturedAt).toISOString()],
      ['cells', `${cells.flatIndex.length} occupied`],
      ['by type', countsByType(cells.moleculeType)],
      ['organisms', organisms.length],
    ]),
    '',
    ...table(
      ['organism', 'parent', 'born', 'energy', 'at', 'genome'],
      organisms
        .slice(0, SHOWN_ORGANISMS)
        .map(each => [
          each.id,
          each.parentId ?? '',
          each.birthTick,
          each.energy,
          each.position.join(','),
          `${each.genome.length} bytes${each.isDead ? ', died' : ''}`,
        ]),
    ),
    ...(organisms.length > SHOWN_ORGANISMS ? [`and ${organisms.length - SHOWN_ORGANISMS} more; --json shows all`] : []),
  ])
}

function countsByType(types: Int32Array): string {
  const counts = new Map<number, number>()
  for (const type of types) counts.set(type, (counts.get(type) ?? 0) + 1)
  return [...counts]
    .sort(([a], [b]) => a - b)
    .map(([type, count]) => `${type}: ${count}`)
    .join(', ')
}
