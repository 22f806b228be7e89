/**
 * The cluster that a test run makes once. Its servers start with a copy, which takes 40 ms; initdb takes a second, and
 * a run needs some forty servers.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { PostgresBinaries } from './postgres-binaries.ts'

export type SharedCluster = PostgresBinaries & {
  /** Of a server that was stopped in good order. */
  readonly dataDir: string
  /** The database in it with the tables of the default namespace. */
  readonly template: string
}

const VARIABLE = 'TIDEMARK_TEST_CLUSTER'

/** For the processes of a test run, as a variable of their environment. */
export const shareCluster = (cluster: SharedCluster): Record<string, string> => ({
  [VARIABLE]: JSON.stringify(cluster),
})

/** None where a test file is run by itself, or on a server of yours. */
export function sharedCluster(): SharedCluster | undefined {
  const text = process.env[VARIABLE]
  return text === undefined ? undefined : (JSON.parse(text) as SharedCluster)
}

/** With owners and rights, which PostgreSQL insists on. */
export async function copyFolder(from: string, to: string): Promise<void> {
  await promisify(execFile)('cp', ['-a', from, to])
}
