import { TooManyGroupsError } from '../errors.ts'
import type { Runtime } from '../runtime.ts'
import type { Store } from '../stores/store.ts'

/** Bits of one transaction. */
const CLEAR_PAGE = 10_000
const GIVE_UP_AFTER = 3

/** Subscribes or resurrects. Where a reference topic's bitmaps are full, those of groups that have ended are freed first. */
export async function withFreeBit<T>(runtime: Runtime, subscribe: () => Promise<T>): Promise<T> {
  for (let inVain = 0; ; ) {
    try {
      return await subscribe()
    } catch (error) {
      if (inVain === GIVE_UP_AFTER || !(error instanceof TooManyGroupsError)) throw error
      // Others may be quicker to take what was freed, so it is tried for as long as something is.
      inVain = (await freeBits(runtime)) ? 0 : inVain + 1
    }
  }
}

const clearing = new WeakMap<Store, Promise<boolean>>()

/** Whatever the dead-groups job would do about bits, once for all who wait for it. False where there was nothing to do. */
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
