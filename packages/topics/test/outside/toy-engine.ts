/**
 * An engine that lives outside the package: it knows `tidemark/store`. Storing is left to the SQLite engine, the one thing here
 * that comes from inside. Processes that the suites start load this module first, so that they know the engine too.
 */
import { registerStore, type Settlement, type Store, type StoreEngine } from 'tidemark/store'
import { sqliteEngine } from '../../src/stores/sqlite/engine.ts'

/** Shelves that were asked for, one for each open(). */
export const shelves: string[] = []

/** One in so many acks is dropped: what no suite may let pass. */
const DROPPED_ACK = Number(process.env.TOY_DROPPED_ACK || Number.POSITIVE_INFINITY)

const toyEngine: StoreEngine = {
  name: 'toy',
  async open(address, settings) {
    shelves.push(settings.options.string('shelf', 'none'))
    const { url } = address
    return forgetful(await sqliteEngine.open({ ...address, url: url.replace('toy:', 'sqlite:') }, settings))
  },
}

export const loadToy = async (): Promise<StoreEngine> => toyEngine

registerStore('toy', loadToy)

let acks = 0

/** Says that an ack is stored, and now and then does not store it. */
function forgetful(store: Store): Store {
  const { settle } = store.leases
  store.leases.settle = (settlements: readonly Settlement[]) =>
    settle.call(
      store.leases,
      settlements.map(each => (each.acks.length > 0 && ++acks % DROPPED_ACK === 0 ? { ...each, acks: [] } : each)),
    )
  return store
}
