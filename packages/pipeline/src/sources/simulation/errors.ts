/** An option that is unknown or has a value that is not allowed. */
export class SimulationOptionError extends Error {
  readonly code = 'TIDEMARK_SIMULATION_OPTION'
  readonly option: string
  readonly value: unknown
  readonly allowed: string

  constructor(option: string, value: unknown, allowed: string) {
    super(`Option '${option}' is ${show(value)}; allowed: ${allowed}`)
    this.name = 'SimulationOptionError'
    this.option = option
    this.value = value
    this.allowed = allowed
  }
}

/** A saved state that is damaged, of another version, or of a simulation with other settings. Nothing was changed. */
export class SimulationStateError extends Error {
  readonly code = 'TIDEMARK_SIMULATION_STATE'

  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'SimulationStateError'
  }
}

/** The call is not possible in the current state of the simulation or its source. */
export class SimulationError extends Error {
  readonly code = 'TIDEMARK_SIMULATION'

  constructor(message: string) {
    super(message)
    this.name = 'SimulationError'
  }
}

function show(value: unknown): string {
  if (typeof value === 'function') return 'a function'
  if (typeof value === 'bigint' || value === undefined) return String(value)
  const text = typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? String(value))
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}
