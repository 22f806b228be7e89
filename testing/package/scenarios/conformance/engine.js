import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { conformance, testDatabase } from 'tidemark/conformance'
import { registerStore } from 'tidemark/store'

registerStore('other', () => Promise.reject(new Error('It is never opened')))

conformance(
  {
    name: 'SQLite, as an engine of another package',
    isShared: true,
    async fresh() {
      const folder = mkdtempSync(join(tmpdir(), 'conformance-'))
      return testDatabase(`sqlite:${join(folder, 'app.db')}`, {
        remove: async () => rmSync(folder, { recursive: true }),
      })
    },
  },
  { suites: ['size', 'settling', 'opening', 'killedInFlight', 'commandModel', 'protobufPayloads'] },
)
