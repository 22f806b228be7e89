/** run-suites.ts <suite>…: the suites named, on the toy engine, as a test file of their own. */
import { type ConformanceSuite, conformance } from 'tidemark/conformance'
import { toyStore } from './toy-store.ts'

const withoutTracking = process.env.TOY_WITHOUT_TRACKING === '1' && { tracking: 'not built yet' }
const store = { ...toyStore, lacks: { ...toyStore.lacks, ...withoutTracking } }
conformance(store, { suites: process.argv.slice(2) as ConformanceSuite[] })
