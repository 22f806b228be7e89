import type { PipelineConfig } from '@tidemark/pipeline'
import { startWorld, type World } from '../../../server/test/worlds.ts'
import type { Engine } from './engines.ts'

/** A world whose topics and indexes are in a database of this engine. */
export async function startWorldOn(engine: Engine, more: PipelineConfig['services'] = {}): Promise<World> {
  if (engine.name === 'SQLite') return await startWorld({}, more)
  const database = await engine.fresh()
  const world = await startWorld({}, more, {}, database.url)
  return {
    ...world,
    async [Symbol.asyncDispose]() {
      await world[Symbol.asyncDispose]()
      await database.drop()
    },
  }
}
