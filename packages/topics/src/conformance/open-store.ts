import { Options } from '../options/options.ts'
import { resolveEngine } from '../stores/registry.ts'
import type { Store } from '../stores/store.ts'
import { SILENT } from './test-database.ts'

/** Opens the store itself, for operations that the public API lacks, beside the instances that the test has opened. */
export async function openStore(
  { url }: { readonly url: string },
  { rowCacheBytes = 1_000_000 } = {},
): Promise<Store & AsyncDisposable> {
  const { engine, address } = await resolveEngine('open.url', url, 'default')
  const store = await engine.open(address, { options: new Options('open', {}), rowCacheBytes, logger: SILENT })
  return Object.assign(store, { [Symbol.asyncDispose]: () => store.close() })
}
