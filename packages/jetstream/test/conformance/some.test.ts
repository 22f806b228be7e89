/** Some of the conformance suites on one node. `npm run test:jetstream` runs all of them, on one node and on three. */
import { describe } from 'node:test'
import { type ConformanceSuite, conformance, conformanceSuites } from 'tidemark/conformance'
import { jetStreamStore, skipReason } from '../stores.ts'

const SOME: readonly ConformanceSuite[] = ['settling', 'leases', 'zombies', 'opening']
const named = process.env.TIDEMARK_TEST_SUITES?.split(',') as ConformanceSuite[] | undefined
const suites = named ?? (process.env.TIDEMARK_TEST_JETSTREAM === '1' ? conformanceSuites : SOME)

if (skipReason === false) conformance(jetStreamStore, { suites })
else describe('the conformance suites on JetStream', { skip: skipReason }, () => {})
