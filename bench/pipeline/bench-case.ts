import type { Figure } from '../figure.ts'

/** What a case is run with. */
export type PipelineBench = {
  /** How often each side is measured; medians are taken. */
  readonly rounds: number
  /** The size of a full run, or a tenth of it. */
  size(full: number): number
}

export type PipelineCase = {
  readonly name: string
  readonly about: string
  run(bench: PipelineBench): Promise<Figure[]>
}
