/** What `run` and `prepare` of a service can use. */
export type ServiceContext = {
  /** Aborts when the service must stop: finish what must be finished, and return. */
  readonly signal: AbortSignal
  /** Resolves at once, or when a pause is over or the service stops. Await it between two steps. */
  unpaused(): Promise<void>
  /**
   * Reports a failed operation. The service continues and is unhealthy until the operation succeeds. `about`
   * identifies it, such as a key.
   */
  report(operation: string, error: unknown, about?: string): void
  /** Withdraws what `report` reported for this operation. */
  succeeded(operation: string): void
  /** Reports an oddity that does not affect the health of the service, for the log and listeners. */
  note(action: string, error: unknown): void
  /** Runs an operation and makes the service unhealthy while it takes too long. The caller handles the result. */
  watch<T>(operation: string, work: () => Promise<T>): Promise<T>
  /** Shows that the service waits for something, until it is disposed. */
  waiting(what: string): Disposable
  /**
   * Repeats the work while its environment is unavailable (`isEnvironmentFault`); the service is then unhealthy and
   * waiting. Any other error is thrown, as is the last error when the service must stop, and an error after which the
   * resource must be opened again (`isGone`).
   */
  through<T>(operation: string, work: () => Promise<T>, about?: string): Promise<T>
}
