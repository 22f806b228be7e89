export type Mutant = { readonly name: string; readonly about: string }

export const MUTANTS: readonly Mutant[] = []
