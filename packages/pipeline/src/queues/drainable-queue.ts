import type { DrainOptions, QueueMetrics } from './bounded-queue.ts'

/** The end of a queue that a service drains: a BoundedQueue, or a WorkerQueueReceiver. */
export type DrainableQueue<T> = {
  drain(max: number, options: DrainOptions): Promise<T[]>
  readonly isEnded: boolean
  readonly metrics: QueueMetrics
}
