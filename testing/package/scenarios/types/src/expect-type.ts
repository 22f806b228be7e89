type Same<A, B> = (<X>() => X extends A ? 1 : 2) extends <X>() => X extends B ? 1 : 2 ? true : false

/** Compiles only where the value has exactly this type: `expectType<number>()(value)`. */
export const expectType =
  <Expected>() =>
  <Actual>(_value: Actual, ..._differs: Same<Actual, Expected> extends true ? [] : [expected: Expected]): void => {}
