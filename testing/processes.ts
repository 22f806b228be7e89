import { type Script, type ScriptOptions, startScript } from '../packages/topics/src/conformance/script.ts'
import { unwatchProcess, watchProcess } from './watchdog.ts'

export type { Script } from '../packages/topics/src/conformance/script.ts'

/** Runs a TypeScript file in a process of its own, which ends with this process at the latest. */
export function spawnScript(file: URL | string, args: readonly string[] = [], options: ScriptOptions = {}): Script {
  const nodeFlags = ['--conditions=tidemark-source', ...(options.nodeFlags ?? [])]
  const script = startScript(file, args, { ...options, nodeFlags })
  watchProcess(script.pid, 'SIGKILL')
  void script.exited.then(() => unwatchProcess(script.pid))
  return script
}
