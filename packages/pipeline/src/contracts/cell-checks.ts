import { ContractError } from '../errors.ts'

export const TYPE = 'CellStateList'

export function notAscending(name: string, slot: number, index: number): ContractError {
  return new ContractError(
    TYPE,
    `${name} of cell ${slot} is ${index}; it must be greater than the one before and within 0 to 2147483647`,
  )
}

export function requireNatural(column: Int32Array, name: string): void {
  for (let slot = 0; slot < column.length; slot++) {
    if ((column[slot] as number) >= 0) continue
    throw notNatural(name, slot)
  }
}

function notNatural(name: string, slot: number): ContractError {
  return new ContractError(TYPE, `${name} of cell ${slot} is not within 0 to 2147483647`)
}
