import type { HorizonHolder } from '../fan-out-store.ts'

/** One writer at a time: no transaction can hold back what others have committed. */
export const horizonHolders = (): HorizonHolder[] => []
