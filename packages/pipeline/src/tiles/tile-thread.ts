/** The inside of a thread that renders tiles (`tile-makers.ts` is the outside). */
import { parentPort } from 'node:worker_threads'
import { doTileWork, type FromTileThread, type ToTileThread } from './tile-protocol.ts'

export function serveTiles(): void {
  parentPort?.on('message', ({ id, work }: ToTileThread) => {
    try {
      const result = doTileWork(work)
      tell({ id, result }, [result.pixels.buffer as ArrayBuffer])
    } catch (error) {
      const { name, message } = error as Error
      tell({
        id,
        problem: { name, message, code: String(Reflect.get(error as object, 'code') ?? 'TIDEMARK_CONTRACT') },
      })
    }
  })
}

function tell(message: FromTileThread, transferred: ArrayBuffer[] = []): void {
  parentPort?.postMessage(message, transferred)
}
