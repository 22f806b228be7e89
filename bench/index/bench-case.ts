import type { Figure } from '../figure.ts'
import type { PipelineBench } from '../pipeline/bench-case.ts'
import type { IndexEngine } from './engines/engine.ts'

type IndexBench = PipelineBench & { readonly engine: IndexEngine }

export type IndexCase = {
  readonly name: string
  readonly about: string
  run(bench: IndexBench): Promise<Figure[]>
}
