import type { ConformanceStore } from './conformance-store.ts'
import { type Script, startScript } from './script.ts'

/** In the repository these are TypeScript, in the package JavaScript. */
const EXTENSION = import.meta.url.endsWith('.ts') ? '.ts' : '.js'
const END_WITH_PARENT = new URL(`end-with-parent${EXTENSION}`, import.meta.url).href

type SpawnOptions = { readonly env?: Record<string, string>; readonly nodeFlags?: readonly string[] }

/** Starts a process on a database of the store, with a script from the folder `scripts`. */
export function spawn(
  { nodeFlags = [] }: ConformanceStore,
  script: string,
  args: readonly string[],
  options: SpawnOptions = {},
): Script {
  const file = new URL(`scripts/${script}${EXTENSION}`, import.meta.url)
  const flags = [`--import=${END_WITH_PARENT}`, ...nodeFlags, ...(options.nodeFlags ?? [])]
  return startScript(file, args, { ...options, nodeFlags: flags })
}
