import type { Logger } from '../observe/logger.ts'
import type { Options } from '../options/options.ts'
import type { Driver } from './driver.ts'
import type { Operator } from './operator.ts'
import type { Store } from './store.ts'

/** Address of a namespace, with a scheme that the engine was registered for. */
export type StoreAddress = {
  /** URL as given to `open()`. It may contain a password: keep it out of errors and logs. */
  readonly url: string
  /** Name of the namespace. */
  readonly namespace: string
  /**
   * The driver, if `open({ driver })` or `open({ postgres })` was called. The URL then names the engine and, on SQLite,
   * the file.
   */
  readonly driver?: Driver
  /** Name of the option that holds the address, for a `ConfigError`: `open.url`. */
  readonly option: string
}

/** What `open()` passes to an engine. */
export type StoreSettings = {
  /** Options of `open()`. Read those of your engine, then call `options.done()`, which refuses unknown ones. */
  readonly options: Options
  /** Cache per topic for rows that several groups of this process read, in bytes. */
  readonly rowCacheBytes: number
  /** Logger. */
  readonly logger: Logger
}

/** A kind of database that stores topics. */
export type StoreEngine = {
  /** Name of the engine for logs, such as `sqlite`. */
  readonly name: string
  /** Opens a namespace. Creates it or upgrades its schema if necessary. */
  open(address: StoreAddress, settings: StoreSettings): Promise<Store>
  /** Operations of `migrate()`, `repair()`, `schemaVersions()` and `diagnose()`; without it those calls are refused. */
  operator?(address: StoreAddress): Operator
}
