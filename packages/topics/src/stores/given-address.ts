import { ConfigError } from '../errors.ts'
import { ADDRESSES, addressError, shownAddress } from './address.ts'
import type { Driver } from './driver.ts'

/** The parsed address of `open()` and similar calls: the scheme of an engine, and its URL or driver. */
export type GivenAddress = {
  readonly scheme: string
  readonly url: string
  readonly driver?: Driver
}

const POOL = 'a Pool of pg'
const DRIVER = "a driver of 'tidemark/drivers': betterSqlite3(Database, file), libsql(…), postgresJs(sql) or pglite(db)"

/** `option` names the option in errors, such as 'open.url'. */
export async function readAddress(option: string, given: unknown): Promise<GivenAddress> {
  if (typeof given === 'string') return { scheme: given.slice(0, Math.max(0, given.indexOf(':'))), url: given }
  if (typeof given !== 'object' || given === null) throw addressError(option, given)
  const [name, ...more] = Object.keys(given)
  if (more.length > 0 || (name !== 'postgres' && name !== 'driver')) {
    const allowed = `${ADDRESSES}, { postgres: pool } or { driver }; options go into the second argument`
    throw new ConfigError(option, `an object with ${[name, ...more].join(', ') || 'nothing in it'}`, allowed)
  }
  return name === 'postgres'
    ? await fromPool(option, (given as { postgres: unknown }).postgres)
    : fromDriver(option, (given as { driver: unknown }).driver)
}

async function fromPool(option: string, pool: unknown): Promise<GivenAddress> {
  const { isPgPool, pgPool } = await import('./postgres/drivers/pg-pool.ts')
  if (!isPgPool(pool)) throw new ConfigError(`${option.replace(/\.url$/, '')}.postgres`, kindOf(pool), POOL)
  return { scheme: 'postgres', url: 'postgres://', driver: pgPool(pool) }
}

function fromDriver(option: string, driver: unknown): GivenAddress {
  if (!isDriver(driver)) throw new ConfigError(`${option.replace(/\.url$/, '')}.driver`, kindOf(driver), DRIVER)
  if (driver.engine === 'sqlite') return { scheme: 'sqlite', url: `sqlite:${driver.file}`, driver }
  return { scheme: 'postgres', url: 'postgres://', driver }
}

function isDriver(value: unknown): value is Driver {
  if (typeof value !== 'object' || value === null || !('engine' in value)) return false
  const { engine, name, file, open, location, transaction } = value as Record<string, unknown>
  if (typeof name !== 'string') return false
  if (engine === 'sqlite') return typeof file === 'string' && typeof open === 'function'
  return engine === 'postgres' && typeof location === 'string' && typeof transaction === 'function'
}

/** The kind, not the value: it may contain a password. */
function kindOf(value: unknown): string {
  if (typeof value === 'string') return shownAddress(value)
  if (typeof value !== 'object' || value === null) return typeof value === 'function' ? 'a function' : String(value)
  return Array.isArray(value) ? 'an array' : `an object of class ${value.constructor?.name ?? 'null'}`
}
