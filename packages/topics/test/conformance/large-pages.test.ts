import { largePages } from '../../src/conformance/large-pages.ts'
import { BUILT_IN } from './stores.ts'

largePages(BUILT_IN)
