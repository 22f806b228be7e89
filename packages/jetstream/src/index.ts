/** `@tidemark/jetstream`: importing it makes `open('nats://…')` store topics on NATS JetStream. */
import { registerStore, type StoreEngine } from 'tidemark/store'

const load = async (): Promise<StoreEngine> => (await import('./engine.ts')).jetStreamEngine

/**
 * Make `open('nats://…')` use JetStream. Importing the package does this already; calling it again changes nothing.
 *
 * @example
 * registerJetStream()
 * const tm = await open('nats://a:4222,b:4222,c:4222', { namespace: 'orders', replicas: 3 })
 */
export function registerJetStream(): void {
  registerStore('nats', load)
}

registerJetStream()
