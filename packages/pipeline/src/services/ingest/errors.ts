import { TidemarkError } from 'tidemark'

/** Input that is not what it should be, with the place. What came before it was handed on. */
export class IngestError extends TidemarkError {
  readonly input: string
  /** Of the message that is wrong: its number, from 0, and where it begins. */
  readonly index: number
  readonly byte: number

  constructor(input: string, index: number, byte: number, problem: string, cause?: unknown) {
    const text = `${input}: message ${index}, which begins at byte ${byte}, ${problem}`
    super('TIDEMARK_INGEST', text, cause)
    this.input = input
    this.index = index
    this.byte = byte
  }
}

/** A tick that is in order by itself and does not belong here. */
export class TickRefusedError extends TidemarkError {
  constructor(problem: string) {
    super('TIDEMARK_TICK_REFUSED', problem)
  }
}
