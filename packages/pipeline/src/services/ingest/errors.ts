import { CodedError } from 'tidemark'

/** The input is invalid. Ticks before the error were accepted. */
export class IngestError extends CodedError {
  /** Name of the input. */
  readonly input: string
  /** Index of the invalid message, from 0. */
  readonly index: number
  /** Byte at which the message begins. */
  readonly byte: number

  constructor(input: string, index: number, byte: number, problem: string, cause?: unknown) {
    const text = `${input}: message ${index}, which begins at byte ${byte}, ${problem}`
    super('TIDEMARK_INGEST', text, cause)
    this.input = input
    this.index = index
    this.byte = byte
  }
}

/** The tick is valid but does not belong to this run. */
export class TickRefusedError extends CodedError {
  constructor(problem: string) {
    super('TIDEMARK_TICK_REFUSED', problem)
  }
}
