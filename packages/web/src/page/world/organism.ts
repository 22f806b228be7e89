export type Organism = {
  readonly id: number
  readonly parentId: number | null
  readonly birthTick: number
  readonly lineage: number
  readonly energy: number
  readonly position: readonly number[]
  readonly isDead: boolean
}

export type OrganismFacts = Pick<Organism, 'id' | 'parentId' | 'birthTick' | 'lineage'> & {
  readonly birthPosition: readonly number[]
  readonly deathTick: number | null
}

export type Moment = { readonly tick: number; readonly state: Organism & { readonly genomeBase64: string } }
