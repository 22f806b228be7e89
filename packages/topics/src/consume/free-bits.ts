import { TooManyGroupsError } from '../errors.ts'
import type { Runtime } from '../runtime.ts'
import type { Store } from '../stores/store.ts'

/** Bits cleared per transaction. */
const CLEAR_PAGE = 10_000
const GIVE_UP_AFTER = 3

/** Subscribes or resurrects. If a reference topic has no free bit, bits of ended groups are freed first. */
export async function withFreeBit<T>(runtime: Runtime, subscribe: () => Promise<T>): Promise<T> {
  for (let inVain = 0; ; ) {
    try {
      return await subscribe()
    } catch (error) {
      if (inVain === GIVE_UP_AFTER || !(error instanceof TooManyGroupsError)) throw error
      // Others may take the freed bits first, so this is repeated as long as something is freed.
      inVain = (await freeBits(runtime)) ? 0 : inVain + 1
    }
  }
}

const clearing = new WeakMap<Store, Promise<boolean>>()

/** Frees bits as the dead-groups job does, once for all who wait for it. False if there was nothing to do. */
export async function freeBits({ store }: Runtime): Promise<boolean> {
  const running = clearing.get(store) ?? clearAll(store).finally(() => clearing.delete(store))
  clearing.set(store, running)
  return await running
}

async function clearAll(store: Store): Promise<boolean> {
  let steps = 0
  while ((await store.tracking.clearBits(CLEAR_PAGE)).more) steps++
  return steps > 0
}
