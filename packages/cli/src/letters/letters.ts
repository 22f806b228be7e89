import {
  contractsRegistry,
  type LetterFilter,
  type LetterSelection,
  openExistingStorage,
  type PipelineLetter,
  PipelineLetters,
} from '@tidemark/pipeline'
import { open } from 'tidemark'
import type { Surroundings } from '../command.ts'
import { confirm } from '../confirm.ts'
import { loggerOf, requireNamespace } from '../database.ts'
import { NotFoundError, UsageError } from '../errors.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import { type Given, present } from '../given.ts'
import { counted } from '../output/counted.ts'
import { payloadText } from '../output/message.ts'
import { facts, table } from '../output/table.ts'
import { runLocations } from '../runs/run-locations.ts'

const SHOWN_REASON = 60
const KINDS = ['tick', 'metadata', 'batch', 'other'] as const

export async function listLetters(given: Given, surroundings: Surroundings): Promise<ExitCode> {
  const filter = filterOf(given)
  const limit = given.whole('limit', { max: 10_000 }) ?? 100
  return await withLetters(given, surroundings, async letters => {
    const found = await letters.list(filter, { limit })
    surroundings.output.result(found, () =>
      table(
        ['id', 'kind', 'service', 'run', 'ticks', 'attempts', 'since', 'reason'],
        found.map(letter => [
          letter.id,
          letter.kind,
          letter.service,
          letter.runId ?? '',
          ticksText(letter),
          letter.attempts,
          letter.buriedAt.toISOString(),
          payloadText(letter.reason).slice(0, SHOWN_REASON),
        ]),
      ),
    )
    return EXIT.done
  })
}

export async function inspectLetter(given: Given, surroundings: Surroundings): Promise<ExitCode> {
  const id = given.argument('id')
  return await withLetters(given, surroundings, async letters => {
    const letter = await letters.inspect(id)
    if (letter === null)
      throw new NotFoundError(`The pipeline has no dead letter '${id}'. 'tidemark letters list' lists them`)
    surroundings.output.result(letter, () => [
      ...facts([
        ['id', letter.id],
        ['topic', letter.topic],
        ['kind', letter.kind],
        ['service', letter.service],
        ['run', letter.runId ?? ''],
        ['ticks', ticksText(letter)],
        ['file', letter.storageKey ?? ''],
        ['attempts', letter.attempts],
        ['first failure', letter.firstFailureAt.toISOString()],
        ['last failure', letter.lastFailureAt.toISOString()],
        ['bytes', letter.bytes],
        ['reason', payloadText(letter.reason)],
      ]),
      ...letter.stackTraceLines.map(line => `  ${payloadText(line)}`),
    ])
    return EXIT.done
  })
}

export async function redriveLetters(given: Given, surroundings: Surroundings): Promise<ExitCode> {
  const selection = selectionOf(given)
  return await withLetters(given, surroundings, async letters => {
    const { redriven, failed } = await letters.redrive(selection)
    surroundings.output.result({ redriven, failed }, () => [
      `${counted(redriven, 'dead letter')} redriven`,
      ...failed.map(({ id, error }) => `${id} stays: ${payloadText(error)}`),
    ])
    return failed.length === 0 ? EXIT.done : EXIT.failed
  })
}

export async function discardLetters(given: Given, surroundings: Surroundings): Promise<ExitCode> {
  const selection = selectionOf(given)
  return await withLetters(given, surroundings, async letters => {
    const which = selection.all ? 'all dead letters of the pipeline' : 'these dead letters of the pipeline'
    await confirm(given, `Discarding ${which}`, surroundings.interrupted)
    const discarded = await letters.discard(selection)
    surroundings.output.result({ discarded }, () => [`${counted(discarded, 'dead letter')} discarded`])
    return EXIT.done
  })
}

/** Dead letters of a configuration or of the data folder. Nothing is created. */
async function withLetters<T>(
  given: Given,
  surroundings: Surroundings,
  work: (letters: PipelineLetters) => Promise<T>,
): Promise<T> {
  const { topics: place, storages, indexes, letterTopics } = await runLocations(given, surroundings.environment)
  const storage = await openExistingStorage(storages)
  if (place === null || storage === null) {
    throw new NotFoundError('There is no pipeline with topics and a storage there. Give --data or --config')
  }
  await requireNamespace(place)
  const { url, namespace } = place
  const logger = loggerOf(surroundings)
  await using topics = await open(url, { namespace, registry: contractsRegistry, maintenance: false, logger })
  return await work(new PipelineLetters({ topics, storage, indexes }, letterTopics))
}

function filterOf(given: Given): LetterFilter {
  return present({
    kind: given.oneOf('kind', KINDS),
    service: given.text('service'),
    runId: given.text('run'),
    reason: given.text('reason'),
  })
}

function selectionOf(given: Given): LetterSelection {
  const ids = given.list('id')
  const filter = { ...filterOf(given), ...(ids.length > 0 && { ids }) }
  const isAll = given.flag('all')
  if (isAll && Object.keys(filter).length > 0) throw new UsageError("--all can't be combined with ids or filters")
  if (!isAll && Object.keys(filter).length === 0)
    throw new UsageError('No dead letters selected. Give ids, a filter, or --all')
  return isAll ? { all: true } : filter
}

const ticksText = ({ tickStart, tickEnd }: PipelineLetter): string => {
  if (tickStart === null) return ''
  return tickStart === tickEnd ? String(tickStart) : `${tickStart} to ${tickEnd}`
}
