import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { Logger } from '../index.ts'
import type { ConformanceStores } from './conformance-store.ts'
import { it } from './it.ts'
import { SILENT } from './test-database.ts'

type Line = { readonly fields: Record<string, unknown>; readonly text: string }

export function lifeCycleLog({ stores }: ConformanceStores): void {
  for (const store of stores) {
    describe(store.name, () => {
      it('logs open and close at INFO, with where and what, and no secret', async () => {
        await using database = await store.fresh()
        const lines: Line[] = []
        const info = (fields: object, text: string) => lines.push({ fields: { ...fields }, text })
        const logger: Logger = { ...SILENT, info }
        const tm = await database.open({ logger, namespace: 'run-7' })
        await tm.close()
        await tm.close()
        const told = lines.filter(({ text }) => text === 'opened' || text === 'closed')
        assert.deepEqual(
          told.map(({ text }) => text),
          ['opened', 'closed'],
        )
        for (const { fields } of told) {
          assert.equal(fields.namespace, 'run-7')
          assert.match(String(fields.engine), /^\w+$/)
          assert.match(String(fields.version), /^\d+\.\d+\.\d+/)
          assert.ok(String(fields.location).length > 0)
          const { password = '' } = URL.parse(database.url) ?? {}
          if (password !== '') assert.ok(!JSON.stringify(fields).includes(password))
          assert.ok(!JSON.stringify(fields).includes('postgres://'))
        }
      })
    })
  }
}
