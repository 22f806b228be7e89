import { type BeforeApplicationShutdown, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common'
import { type ConsumerGroup, Tidemark } from 'tidemark'
import type { Order } from './orders.controller.js'

/** Consumes orders while the application runs. Other providers can be injected here, as anywhere. */
@Injectable()
export class EmailConsumer implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #logger = new Logger(EmailConsumer.name)
  readonly #group: ConsumerGroup<Order>
  readonly sent: number[] = []

  constructor(tm: Tidemark) {
    this.#group = tm.consumerGroup<Order>('orders', 'email')
    this.#group.addConsumer('email-1', ({ payload }) => this.send(payload))
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.#group.start()
  }

  // Waits for handlers that have begun, and leaves the rest to other instances.
  async beforeApplicationShutdown(): Promise<void> {
    await this.#group.stop({ timeout: '10s' })
  }

  async send({ orderId, total }: Order): Promise<void> {
    this.sent.push(orderId)
    this.#logger.log(`order ${orderId} for ${total}`)
  }
}
