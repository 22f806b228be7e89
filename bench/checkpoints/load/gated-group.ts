import { setTimeout as delay } from 'node:timers/promises'
import type { Tidemark } from 'tidemark'

const LOOK_MS = 5

/** A slow group in this process, whose handler stands still while the gate is closed. */
export class GatedGroup {
  isOpen = true
  #delivered = 0

  private constructor() {}

  static async start(tidemark: Tidemark, topic: string, name: string, handlerMs: number): Promise<GatedGroup> {
    const group = new GatedGroup()
    await tidemark
      .consumerGroup(topic, name, { batchSize: 100 })
      .addConsumer('slow', async (_, { signal }) => {
        while (!group.isOpen) await delay(LOOK_MS, undefined, { signal })
        group.#delivered++
        await delay(handlerMs, undefined, { signal })
      })
      .start({ from: 'beginning' })
    return group
  }

  get delivered(): number {
    return this.#delivered
  }
}
