import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import type { Logger } from 'tidemark'
import { encodeMetadata } from '../../contracts/metadata-codec.ts'
import type { SimulationMetadata } from '../../contracts/tick.ts'
import type { EncodedTick } from '../../contracts/tick-codec.ts'
import type { Outlet } from '../../resources/bound-resources.ts'
import type { Storage } from '../../storage/storage.ts'
import { Service, type ServiceContext } from '../service.ts'
import type { EncodedMetadata } from '../simulation/simulation-service.ts'
import { StoredRanges } from '../stored-ranges.ts'
import { IngestError } from './errors.ts'
import { readTicks } from './read-ticks.ts'

/** Options of an IngestService. */
export type IngestServiceOptions = {
  /** Path of a file, or '-' for standard input. */
  readonly input: string
  /** Queue of ticks. */
  readonly ticks: Outlet<EncodedTick>
  /** JSON file with the SimulationMetadata of the run, which is put on the queue `metadata` before the first tick. */
  readonly metadataFile?: string
  /** Queue of metadata. */
  readonly metadata?: Outlet<EncodedMetadata>
  /** Storage whose ticks are skipped, so that a file can be read again after a crash. */
  readonly storage?: Storage
  /** Maximum bytes of a tick. */
  readonly maxTickBytes?: number
}

/** Reads delimited TickData from a file or standard input, and ends with the input. */
export class IngestService extends Service {
  readonly #options: IngestServiceOptions
  #stored: StoredRanges | undefined
  #metadata: SimulationMetadata | null = null
  #ticks = 0
  #bytes = 0
  #passedOver = 0
  /** The whole input was read, instead of being stopped in the middle. */
  #isAtEnd = false

  constructor(name: string, options: IngestServiceOptions, logger: Logger) {
    super(name, logger)
    this.#options = options
  }

  protected override async run(context: ServiceContext): Promise<void> {
    const { input, maxTickBytes } = this.#options
    const { signal } = context
    this.#stored = undefined
    this.#metadata = null
    this.#isAtEnd = false
    const stream = input === '-' ? process.stdin : createReadStream(input)
    // Waiting for input must not keep it from stopping.
    const abort = (): void => void stream.destroy()
    signal.addEventListener('abort', abort, { once: true })
    try {
      if (signal.aborted) return
      const gate = {
        runId: await this.#putMetadata(signal),
        metadataOf: (runId: string) => this.#metadataOf(runId, context),
        ...(maxTickBytes !== undefined && { maxTickBytes }),
      }
      for await (const tick of readTicks(nameOf(input), chunksOf(stream), gate)) {
        await context.unpaused()
        await this.#handOn(tick, context)
      }
      this.#isAtEnd = !signal.aborted
    } catch (error) {
      if (!signal.aborted) throw error
    } finally {
      signal.removeEventListener('abort', abort)
      if (stream !== process.stdin) stream.destroy()
    }
  }

  protected override metrics(): Record<string, number> {
    return { ticks: this.#ticks, bytes: this.#bytes, passedOver: this.#passedOver, atEnd: Number(this.#isAtEnd) }
  }

  /** The run, if its metadata names it. */
  async #putMetadata(signal: AbortSignal): Promise<string | undefined> {
    const { metadataFile, metadata } = this.#options
    if (metadataFile === undefined) return undefined
    const described = await readMetadataFile(metadataFile)
    const { runId } = described
    await metadata?.put({ runId, bytes: encodeMetadata(described) }, { signal })
    this.#metadata = described
    return runId
  }

  /** From its file, or as stored by an earlier start. */
  async #metadataOf(runId: string, { through }: ServiceContext): Promise<SimulationMetadata | null> {
    const { storage } = this.#options
    if (storage !== undefined) {
      this.#metadata ??= await through('look at the storage', () => storage.readMetadata(runId))
    }
    return this.#metadata
  }

  async #handOn(tick: EncodedTick, { signal, through }: ServiceContext): Promise<void> {
    if (await through('look at the storage', () => this.#isStored(tick))) {
      this.#passedOver++
      return
    }
    const bytes = tick.bytes.length
    await this.#options.ticks.put(tick, { signal })
    this.#ticks++
    this.#bytes += bytes
  }

  async #isStored({ runId, tick }: EncodedTick): Promise<boolean> {
    const { storage } = this.#options
    if (storage === undefined) return false
    // The sampling interval is unknown here: only ticks inside a batch's range count as stored.
    this.#stored ??= await StoredRanges.of(storage, runId, 1)
    return this.#stored.has(tick)
  }
}

const nameOf = (input: string): string => (input === '-' ? 'Standard input' : input)

export async function readMetadataFile(file: string): Promise<SimulationMetadata> {
  try {
    return JSON.parse(await readFile(file, 'utf8'))
  } catch (error) {
    throw new IngestError(file, 0, 0, `is not metadata in JSON: ${(error as Error).message}`, error)
  }
}

/** As bytes, whatever encoding was set. */
async function* chunksOf(stream: Readable): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const chunk of stream) yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk
}
