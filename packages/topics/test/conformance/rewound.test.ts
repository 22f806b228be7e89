import { rewound } from '../../src/conformance/rewound.ts'
import { BUILT_IN } from './stores.ts'

rewound(BUILT_IN)
