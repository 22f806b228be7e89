import { ContractError } from '../errors.ts'

/** Protobuf's int64 is a bigint; in memory these are integers from 0 to 2^53 - 1. */
export function toInt64(messageType: string, name: string, value: number): bigint {
  if (Number.isSafeInteger(value) && value >= 0) return BigInt(value)
  throw new ContractError(messageType, `${name} is ${value}, not a whole number from 0 to 2^53 - 1`)
}

export function fromInt64(messageType: string, name: string, value: bigint): number {
  const number = Number(value)
  if (Number.isSafeInteger(number) && number >= 0) return number
  throw new ContractError(messageType, `${name} is ${value}, not a whole number from 0 to 2^53 - 1`)
}
