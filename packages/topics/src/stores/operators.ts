import type { Address } from './address.ts'
import type { Operator } from './operator.ts'
import { postgresOperator } from './postgres/operator.ts'
import { sqliteOperator } from './sqlite/operator.ts'

export const operatorOf = (address: Address): Operator =>
  address.engine === 'sqlite' ? sqliteOperator(address.path) : postgresOperator(address.url, address.namespace)
