import { ConfigError, PackageRequiredError } from '../errors.ts'
import { checkNamespace } from '../options/names.ts'
import { ADDRESSES, addressError, shownAddress } from './address.ts'
import type { StoreAddress, StoreEngine } from './engine.ts'
import { readAddress } from './given-address.ts'
import type { Operator } from './operator.ts'

/** Packages of this repository are released together. */
const OPTIONAL_VERSIONS = '^0.1.0'

type Load = () => Promise<StoreEngine>

const SCHEME = /^[a-z][a-z0-9+.-]*$/

const loadPostgres: Load = async () => (await import('./postgres/engine.ts')).postgresEngine

// Loaded on first use: a program on SQLite never loads the client of PostgreSQL.
const loads = new Map<string, Load>([
  ['sqlite', async () => (await import('./sqlite/engine.ts')).sqliteEngine],
  ['postgres', loadPostgres],
  ['postgresql', loadPostgres],
])

/**
 * Make `open('<scheme>:…')` use an engine of yours. `load` is called when an address of that scheme is first opened.
 * Registering the same function again changes nothing; a scheme that another engine has is refused.
 *
 * @example
 * registerStore('nats', async () => (await import('./nats-engine.js')).natsEngine)
 * const tm = await open('nats://localhost:4222', { namespace: 'orders' })
 */
export function registerStore(scheme: string, load: () => Promise<StoreEngine>): void {
  if (!SCHEME.test(scheme)) {
    throw new ConfigError('registerStore.scheme', scheme, "a URL scheme in lower case, without the colon: 'nats'")
  }
  const known = loads.get(scheme)
  if (known !== undefined && known !== load) {
    throw new ConfigError('registerStore.scheme', scheme, 'a scheme that no engine is registered for')
  }
  loads.set(scheme, load)
}

/** Loads the engine of an address, and returns the address in the form that the engine takes. */
export async function resolveEngine(
  option: string,
  given: unknown,
  namespace: unknown,
): Promise<{ readonly engine: StoreEngine; readonly address: StoreAddress }> {
  const checked = checkNamespace(namespace ?? 'default')
  const { scheme, url, driver } = await readAddress(option, given)
  const load = loads.get(scheme) ?? (await loadOptional(scheme))
  if (load === undefined) throw addressError(option, url)
  return { engine: await load(), address: { option, url, namespace: checked, ...(driver && { driver }) } }
}

/**
 * Engines in packages of their own register themselves when they are imported. Commands and configuration files can't
 * import them. The name is no literal: a bundler must not follow it, for the package depends on this one.
 */
const OPTIONAL: { readonly [scheme: string]: string } = { nats: '@tidemark/jetstream' }

async function loadOptional(scheme: string): Promise<Load | undefined> {
  const name = OPTIONAL[scheme]
  if (name === undefined) return undefined
  try {
    await import(name)
  } catch (cause) {
    throw PackageRequiredError.missing(`A ${scheme}:// address`, name, OPTIONAL_VERSIONS, cause)
  }
  const load = loads.get(scheme)
  if (load !== undefined) return load
  const cause = new Error("it belongs to another copy of 'tidemark'; install both in one project")
  throw PackageRequiredError.missing(`A ${scheme}:// address`, name, OPTIONAL_VERSIONS, cause)
}

/** An engine's operations on a namespace that need not be open. */
export async function resolveOperator(option: string, given: unknown, namespace: unknown): Promise<Operator> {
  const { engine, address } = await resolveEngine(option, given, namespace)
  if (engine.operator !== undefined) return engine.operator(address)
  throw new ConfigError(
    option,
    shownAddress(address.url),
    `an address that '${engine.name}' can operate on: ${ADDRESSES}`,
  )
}
