import { competingMaintenance } from '../../src/conformance/crash/maintenance.ts'
import { BUILT_IN } from '../conformance/stores.ts'

competingMaintenance(BUILT_IN)
