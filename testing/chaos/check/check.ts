import { checkDeliveries } from './deliveries.ts'
import type { History } from './history.ts'
import { checkOrder } from './order.ts'
import { checkPublishes } from './publishes.ts'
import type { Violation } from './violation.ts'

/** The invariants of DESIGN.md section 8 that journals can show, by set arithmetic; empty if all hold. */
export const findViolations = (history: History): Violation[] => [
  ...checkPublishes(history),
  ...checkDeliveries(history),
  ...checkOrder(history),
]
