/**
 * What a simulation needs to continue after a stop or a kill, in one folder per run:
 *
 *   <folder>/<run id>/run.json            its settings; written before anything else of the run
 *   <folder>/<run id>/state_<tick>.bin    the simulation at that tick; the newest few are kept
 *                    /state_<tick>_open.bin    the same, but the tick itself was not emitted yet
 *                    /in-use.lock         held by the process that runs it
 */
import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { lockFolder } from '../../databases/folder-lock.ts'
import { PRIVATE_FOLDER } from '../../private-files.ts'
import { isRunId, requireRunId } from '../../run-id.ts'
import type { SimulationSettings } from '../../sources/simulation/settings.ts'
import { IncomingFile, syncFolder } from '../../storage/file-system/durable-file.ts'
import { isMissing } from '../../storage/file-system/missing.ts'
import { SimulationRunError } from './errors.ts'

export type RunRecord = {
  readonly runId: string
  readonly samplingInterval: number
  readonly settings: SimulationSettings
}

/** The newest states may be for ticks that were not stored yet at a kill: five states, 10 s apart. */
const KEPT_STATES = 5
const STATE = /^state_(\d{1,16})(_open)?\.bin$/

export type SavedState = { readonly tick: number; readonly isOpen: boolean }

export class RunFolder {
  readonly record: RunRecord
  readonly #path: string

  /** Newest first. */
  static async list(folder: string): Promise<string[]> {
    const names = await namesIn(folder)
    return names.filter(isRunId).sort().reverse()
  }

  static async create(folder: string, record: RunRecord): Promise<RunFolder> {
    const path = join(folder, requireRunId(record.runId))
    await mkdir(path, { recursive: true, mode: PRIVATE_FOLDER })
    await syncFolder(folder)
    const run = new RunFolder(path, record)
    await run.#write('run.json', new TextEncoder().encode(`${JSON.stringify(record, null, 2)}\n`))
    return run
  }

  /** null: there is no such run. */
  static async open(folder: string, runId: string): Promise<RunFolder | null> {
    const path = join(folder, requireRunId(runId))
    const file = join(path, 'run.json')
    try {
      return new RunFolder(path, recordOf(file, runId, await readFile(file, 'utf8')))
    } catch (error) {
      if (isMissing(error)) return null
      throw error
    }
  }

  private constructor(path: string, record: RunRecord) {
    this.#path = path
    this.record = record
  }

  /** Two processes that produce the same ticks would store them twice, and overwrite each other's states. */
  async lock(): Promise<Disposable> {
    return await lockFolder(this.#path)
  }

  /** Durable when it resolves. */
  async saveState(saved: SavedState, state: Uint8Array): Promise<void> {
    await this.#write(fileOf(saved), state)
    const states = await this.states()
    for (const old of states.slice(KEPT_STATES)) await rm(join(this.#path, fileOf(old)), { force: true })
  }

  /** Newest first. */
  async states(): Promise<SavedState[]> {
    const matches = (await namesIn(this.#path)).map(name => STATE.exec(name)).filter(match => match !== null)
    const states = matches.map(([, tick, open]) => ({ tick: Number(tick), isOpen: open !== undefined }))
    // For the same tick, the state that needs nothing more comes first.
    return states.sort((a, b) => b.tick - a.tick || Number(a.isOpen) - Number(b.isOpen))
  }

  async readState(saved: SavedState): Promise<Uint8Array> {
    return await readFile(join(this.#path, fileOf(saved)))
  }

  async #write(name: string, bytes: Uint8Array): Promise<void> {
    await using file = await IncomingFile.create(this.#path, join(this.#path, name))
    await file.write(bytes)
    await file.place(this.#path, name)
  }
}

const fileOf = ({ tick, isOpen }: SavedState): string => `state_${tick}${isOpen ? '_open' : ''}.bin`

function recordOf(file: string, runId: string, text: string): RunRecord {
  try {
    const record = JSON.parse(text)
    if (record.runId === runId && record.samplingInterval >= 1 && typeof record.settings === 'object') return record
  } catch (cause) {
    throw new SimulationRunError(`${file} is not valid JSON. Restore it, or start a new run`, cause)
  }
  throw new SimulationRunError(`${file} does not describe run ${runId}. Restore it, or start a new run`)
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}
