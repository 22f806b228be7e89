/** The inside of a thread that runs one service (`worker-service.ts` is the outside). */
import { parentPort } from 'node:worker_threads'
import type { Logger } from 'tidemark'
import { type Movable, WorkerQueueSender } from '../queues/worker-queue.ts'
import { Resources } from '../resources/resources.ts'
import { buildService } from './build-service.ts'
import type { Service, ServiceEvent } from './service.ts'
import { type Asked, type FromWorker, type ToWorker, toSent, type WorkerSetup } from './worker-protocol.ts'

const STATUS_MS = 200

const toldOf = new Map<string, string>()
/** The inside of a thread that runs one service (`worker-service.ts` is the outside). */
let lastError: Error | undefined

export async function runService({ service: config, resources: given, folder, outlets }: WorkerSetup): Promise<void> {
  const senders = new Map(Object.entries(outlets).map(([name, port]) => [name, new WorkerQueueSender<Movable>(port)]))
  const logger = forwardingLogger()
  const resources = new Resources({ config: given, logger, outlets: senders })
  try {
    const service = await buildService(config, folder, resources, logger)
    service.listen(event => heard(event))
    parentPort?.on('message', (message: ToWorker) => obey(service, message))
    await service.start()
    tellStatus(service)
    tell({ type: 'started' })
    const timer = setInterval(() => tellStatus(service), STATUS_MS)
    await service.ended()
    clearInterval(timer)
    tellStatus(service)
    // Before the end is reported: items that were put arrive first.
    for (const sender of senders.values()) sender.close()
    tell({ type: 'ended', error: service.state === 'ERROR' && lastError ? toSent(lastError) : null })
  } catch (error) {
    tell({ type: 'failed', error: toSent(error instanceof Error ? error : new Error(String(error))) })
  } finally {
    await resources.close()
    parentPort?.close()
  }
}

function obey(service: Service, message: ToWorker): void {
  const { type } = message
  if (type === 'pause') service.pause()
  else if (type === 'resume') service.resume()
  else if (type === 'clearErrors') service.clearErrors()
  else if (type === 'ask') void answer(service, message.id, message)
  // The outside has its own deadline, and terminates the thread when it is over.
  else void service.stop({ timeoutMs: 2 ** 31 - 1 })
}

async function answer(service: Service, id: number, asked: Asked): Promise<void> {
  try {
    const report =
      asked.what === 'step' ? await service.step(asked.ticks) : await service.setSpeed(asked.ticksPerSecond)
    tellStatus(service)
    tell({ type: 'answer', id, answer: report ?? null })
  } catch (error) {
    tell({ type: 'refusal', id, error: toSent(error instanceof Error ? error : new Error(String(error))) })
  }
}

/**
 * A failure that ends the service is reported with its end, and one at its start with that. A repeated one is reported
 * once.
 */
function heard(event: ServiceEvent): void {
  if (event.type === 'recovered') toldOf.clear()
  if (event.type !== 'error') return
  const { action, error } = event
  lastError = error
  if (action === 'run' || action === 'start' || toldOf.get(action) === error.message) return
  toldOf.set(action, error.message)
  tell({ type: 'report', action, error: toSent(error) })
}

function tellStatus(service: Service): void {
  const { metrics, healthy, waitingFor, bindings, speed, errors, state } = service.status()
  // What ended the service is reported with its end.
  const standing = errors.filter(({ action }) => action !== 'run')
  const isWell = healthy || (state === 'ERROR' && standing.length === 0)
  const sent = standing.map(({ at, action, error }) => ({ at, action, error: toSent(error) }))
  tell({ type: 'status', metrics, healthy: isWell, waitingFor, bindings, speed, errors: sent })
}

function tell(message: FromWorker): void {
  parentPort?.postMessage(message)
}

/** Starts, stops and failures of the service are logged outside, where they are reported. */
function forwardingLogger(): Logger {
  const forward = (level: 'warn' | 'error', fields: object, message: string): void => {
    if (!('action' in fields)) tell({ type: 'log', level, fields: sendable(fields), message })
  }
  return {
    debug: () => {},
    info: () => {},
    warn: (fields, message) => forward('warn', fields, message),
    error: (fields, message) => forward('error', fields, message),
  }
}

function sendable(fields: object): object {
  const entries = Object.entries(fields).map(([name, value]) => [name, value instanceof Error ? toSent(value) : value])
  return JSON.parse(JSON.stringify(Object.fromEntries(entries)))
}
