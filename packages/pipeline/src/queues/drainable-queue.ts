import type { DrainOptions, QueueMetrics } from './bounded-queue.ts'

/** End of a queue that a service drains: a BoundedQueue or a WorkerQueueReceiver. */
export type DrainableQueue<T> = {
  /** Takes up to `max` items. */
  drain(max: number, options: DrainOptions): Promise<T[]>
  /** Whether the queue is closed and empty. */
  readonly isEnded: boolean
  /** Figures of the queue. */
  readonly metrics: QueueMetrics
}
