/** The packages on top of `tidemark`, so that all their declarations are compiled. */
import * as jetstream from '@tidemark/jetstream'
import * as pipeline from '@tidemark/pipeline'
import * as server from '@tidemark/server'

export const entries: readonly object[] = [jetstream, pipeline, server]
