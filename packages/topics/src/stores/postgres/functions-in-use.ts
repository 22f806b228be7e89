import { ClosedError, NamespaceGoneError } from '../../errors.ts'
import type { Database } from './database.ts'
import { areFunctionsInstalled, dropUnusedFunctions, useFunctions } from './install-functions.ts'

const EVERY_MS = 3_600_000

/**
 * Keeps the functions that an open store uses. Once an hour it records that they are in use, and drops those of unused
 * versions. If its own are gone anyway (after a week of sleep, or by hand), it installs them again.
 */
export class FunctionsInUse {
  readonly #database: Database
  readonly #install: () => Promise<unknown>
  readonly #timer: NodeJS.Timeout
  #running: Promise<unknown> = Promise.resolve()
  #restoring: Promise<boolean> | undefined

  /** `install` uses separate connections, because it may be called for a failed statement of this database. */
  constructor(database: Database, install: () => Promise<unknown>) {
    this.#database = database
    this.#install = install
    this.#timer = setInterval(() => {
      this.#running = this.check().catch(error => this.#warn(error))
    }, EVERY_MS)
    this.#timer.unref()
    database.restoreFunctions = () => this.restore()
  }

  async check(): Promise<void> {
    if (!(await useFunctions(this.#database))) await this.restore()
    await dropUnusedFunctions(this.#database)
  }

  /** False if nothing was missing. Concurrent callers share one installation. */
  restore(): Promise<boolean> {
    this.#restoring ??= this.#restore().finally(() => {
      this.#restoring = undefined
    })
    return this.#restoring
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#running
  }

  async #restore(): Promise<boolean> {
    if (await areFunctionsInstalled(this.#database)) return false
    await this.#install()
    this.#database.logger.warn({ schema: this.#database.functions }, 'functions had gone and were installed again')
    return true
  }

  #warn(error: unknown): void {
    if (error instanceof ClosedError || error instanceof NamespaceGoneError) return
    this.#database.logger.warn({ err: error }, 'could not check the functions in the database')
  }
}
