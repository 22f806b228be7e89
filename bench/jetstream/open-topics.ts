import '@tidemark/jetstream'
import { open, type Tidemark } from 'tidemark'
import { REPLICAS } from './bench-case.ts'

/** Tidemark on the servers of the benchmark. */
export const openTopics = (url: string): Promise<Tidemark> => open(url, { namespace: 'bench', replicas: REPLICAS })
