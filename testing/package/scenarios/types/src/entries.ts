/** Every entry, so that all declarations are compiled. */
import * as tidemark from 'tidemark'
import * as conformance from 'tidemark/conformance'
import * as drivers from 'tidemark/drivers'
import * as store from 'tidemark/store'

export const entries: readonly object[] = [tidemark, conformance, drivers, store]
