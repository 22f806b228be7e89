import { type OpenOptions, open, type Tidemark } from 'tidemark'

/** Killed groups and dead ones are part of the scenarios: their warnings would only disturb the progress. */
export async function openQuietly(url: string, options: OpenOptions = {}): Promise<Tidemark> {
  return await open(url, { logger: { debug() {}, info() {}, warn() {}, error() {} }, ...options })
}
